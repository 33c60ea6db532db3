# bash completion for dex; made by `dex completion bash`
_dex() {
    local line=${COMP_LINE:0:COMP_POINT} word=${COMP_WORDS[COMP_CWORD]} name cut=
    local -a found
    mapfile -t found < <("${COMP_WORDS[0]}" __complete bash "$line" 2>/dev/null)
    COMPREPLY=()
    if [[ ${found[0]} == ":file" ]]; then
        return
    fi
    compopt +o default 2>/dev/null
    # Bash replaces the part of a word after the last : or = only, so that part is all it may be given.
    if [[ $word != [\"\']* ]]; then
        local whole=${line##*[[:blank:]]}
        [[ $COMP_WORDBREAKS == *:* ]] && cut=${whole%"${whole##*:}"}
        [[ $COMP_WORDBREAKS == *=* && $whole == *=* && ${whole%"${whole##*=}"} == "$cut"* ]] &&
            cut=${whole%"${whole##*=}"}
    fi
    # A name that goes on, such as a named key before its value, gets no blank after it.
    [[ ${#found[@]} -eq 1 && ${found[0]} == *[=/:] ]] && compopt -o nospace 2>/dev/null
    for name in "${found[@]}"; do
        [[ $word == [\"\']* ]] || printf -v name %q "$name"
        COMPREPLY+=("${name#"$cut"}")
    done
}
complete -o default -F _dex dex
