# Completion of slotmark's command line for bash: ../../slotmark/complete knows what fits.
_slotmark_complete=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../slotmark" 2>/dev/null && pwd)/complete

_slotmark()
{
    local line i joined=
    local -a words=()
    for ((i = 1; i <= COMP_CWORD; i++)); do # bash takes --format=csv for three words
        if [ "${COMP_WORDS[i]}" = = ] && [ ${#words[@]} -gt 0 ]; then
            words[-1]+==
            joined=$((i + 1))
            [ "$joined" -le "$COMP_CWORD" ] || joined=$COMP_CWORD
        elif [ "$joined" = "$i" ]; then
            words[-1]+=${COMP_WORDS[i]}
        else
            words+=("${COMP_WORDS[i]}")
        fi
    done
    COMPREPLY=()
    while IFS= read -r line; do
        if [ "$line" = :files ]; then
            compopt -o default 2>/dev/null || true # outside of a completion there is none
        else
            line=${line%%$'\t'*}
            [ "$joined" != "$COMP_CWORD" ] || line=${line#*=}
            COMPREPLY+=("$line")
        fi
    done < <(bash "$_slotmark_complete" "${COMP_WORDS[0]}" "${words[@]}")
}
complete -F _slotmark slotmark
