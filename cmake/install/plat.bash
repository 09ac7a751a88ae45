# SPDX-License-Identifier: Apache-2.0
# Completion of the plat command for bash. It asks the command itself, so that it knows what this version can do.

# The words below a subcommand, from its help: those of its first argument in braces, or of its list of formats.
_plat_words() {
  awk '/^(Positionals|Formats)/ {on = /^P/ ? 1 : 2; next}
       /^[^ ]/ || /^$/ {on = 0}
       on == 1 {if (match($0, /\{.*\}/)) {list = substr($0, RSTART + 1, RLENGTH - 2); gsub(/,/, "\n", list); print list}; on = 0}
       on == 2 {print $1}' <<<"$1"
}

_plat_complete() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} i help words
  for ((i = 2; i < COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} == -- ]]; then # a program and its arguments
      if ((i + 1 == COMP_CWORD)); then COMPREPLY=($(compgen -c -- "$word")); else COMPREPLY=(); fi
      return
    fi
  done
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "--help --version $("$1" --help | awk '/^Subcommands:/ {on = 1; next} on && /^  [a-z]/ {print $1}')" -- "$word"))
    return
  fi
  help=$("$1" "$command" --help 2>/dev/null)
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$(grep -oE '^  +(-[a-z],)?--[a-z-]+' <<<"$help" | grep -oE -e '--[a-z-]+')" -- "$word"))
    return
  fi
  if [[ $before == -* ]]; then # perhaps the value of an option: a|b|c, or a name of which nothing is known
    words=$(sed -nE "s/^  +(-[a-z],)?$before(,--[a-z-]+)? ([^ ]+).*/\\3/p" <<<"$help")
    if [[ -n $words ]]; then
      if [[ $words == *'|'* ]]; then COMPREPLY=($(compgen -W "${words//|/ }" -- "$word")); fi
      return
    fi
  fi
  if [[ $command == rules ]]; then
    COMPREPLY=($(compgen -W "$("$1" rules | grep -oE '^[A-Z]+-[A-Za-z0-9-]+')" -- "$word"))
    return
  fi
  words=$(_plat_words "$help")
  for ((i = 2; i < COMP_CWORD; i++)); do
    if [[ -n ${COMP_WORDS[i]} ]] && grep -qxF -- "${COMP_WORDS[i]}" <<<"$words"; then return; fi # it was said already
  done
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _plat_complete plat
