# SPDX-License-Identifier: Apache-2.0
# Makes this shell use Plat, the software device:  source set_env.sh
#
# For sh, bash and zsh, from any directory; doing it twice changes nothing.

if [ -n "${BASH_SOURCE:-}" ]; then
  _plat_file=$BASH_SOURCE
elif [ -n "${ZSH_VERSION:-}" ]; then
  # Other shells cannot even parse this.
  eval '_plat_file=${(%):-%x}'
else
  # A plain shell does not say what it reads, but it has the file open. The number is that of a subshell too, unlike $$.
  _plat_file=
  read -r _plat_pid _plat_rest </proc/self/stat
  for _plat_fd in "/proc/$_plat_pid/fd"/*; do
    _plat_rest=$(readlink "$_plat_fd") || continue
    case $_plat_rest in
      */set_env.sh) [ -x "${_plat_rest%/*}/bin/plat" ] && _plat_file=$_plat_rest ;;
    esac
  done
  unset _plat_pid _plat_fd _plat_rest
fi

if [ -z "$_plat_file" ]; then
  echo "set_env.sh: this shell does not tell a script where it lies; use bash or zsh, or 'plat run -- program'" >&2
else
  _plat_home=$(unset CDPATH; cd -- "$(dirname -- "$_plat_file")" >/dev/null && pwd -P)

  # _plat_first VALUE DIRECTORY: VALUE, a list of directories, with DIRECTORY first and only once.
  _plat_first() {
    _plat_rest=":$1:"
    while :; do
      case $_plat_rest in
        *":$2:"*) _plat_rest="${_plat_rest%%":$2:"*}:${_plat_rest#*":$2:"}" ;;
        *) break ;;
      esac
    done
    _plat_rest=${_plat_rest#:}
    _plat_rest=${_plat_rest%:}
    printf '%s' "$2${_plat_rest:+:$_plat_rest}"
  }

  export ASCEND_HOME_PATH="$_plat_home"
  export ASCEND_TOOLKIT_HOME="$_plat_home"
  export DDK_PATH="$_plat_home"
  export NPU_HOST_LIB="$_plat_home/runtime/lib64/stub"
  PATH=$(_plat_first "${PATH:-}" "$_plat_home/bin")
  LD_LIBRARY_PATH=$(_plat_first "${LD_LIBRARY_PATH:-}" "$_plat_home/lib64")
  PYTHONPATH=$(_plat_first "${PYTHONPATH:-}" "$_plat_home/python/site-packages")
  export PATH LD_LIBRARY_PATH PYTHONPATH
  unset -f _plat_first
  unset _plat_home _plat_rest
fi
unset _plat_file
