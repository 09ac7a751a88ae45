# SPDX-License-Identifier: Apache-2.0
# Completion of the plat command for bash. It asks the command itself, so that it knows what this version can do.
_plat_complete() {
  local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} i
  for ((i = 2; i < COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} == -- ]]; then # a program and its arguments
      if ((i + 1 == COMP_CWORD)); then COMPREPLY=($(compgen -c -- "$word")); else COMPREPLY=(); fi
      return
    fi
  done
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "--help --version $("$1" --help | awk '/^Subcommands:/ {on = 1; next} on && /^  [a-z]/ {print $1}')" -- "$word"))
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$("$1" "$command" --help 2>/dev/null | grep -oE '^  +(-[a-z],)?--[a-z-]+' | grep -oE -e '--[a-z-]+')" -- "$word"))
  elif [[ $command == rules ]]; then
    COMPREPLY=($(compgen -W "$("$1" rules | grep -oE '^[A-Z]+-[A-Za-z0-9-]+')" -- "$word"))
  fi
}
complete -o default -F _plat_complete plat
