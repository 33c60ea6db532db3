"""The scripts that connect a shell's completion with `dex __complete`."""

FILES = {"bash": "dex.bash", "zsh": "_dex", "fish": "dex.fish", "powershell": "dex.ps1"}
"""The shells, and the name of each one's script in completions/."""

_BASH = r"""# bash completion for dex; made by `dex completion bash`
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
"""

_ZSH = r"""#compdef dex
# zsh completion for dex; made by `dex completion zsh`
_dex() {
    local -a lines names shown begun begun_shown
    local line name text
    lines=("${(@f)$("${(Q)words[1]}" __complete zsh "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    if [[ "$lines[1]" == ":file" ]]; then
        _files
        return
    fi
    for line in $lines; do
        name="${line%%$'\t'*}"
        text="$name"
        [[ "$line" == *$'\t'* ]] && text="$name  -- ${line#*$'\t'}"
        # A name that goes on, such as a named key before its value, gets no blank after it.
        if [[ "$name" == *[=/:] ]]; then
            begun+=("$name")
            begun_shown+=("$text")
        else
            names+=("$name")
            shown+=("$text")
        fi
    done
    local found=1
    (( $#names )) && compadd -l -d shown -a names && found=0
    (( $#begun )) && compadd -S '' -l -d begun_shown -a begun && found=0
    return found
}
if [[ "$funcstack[1]" == "_dex" ]]; then
    _dex "$@"
else
    compdef _dex dex
fi
"""

_FISH = r"""# fish completion for dex; made by `dex completion fish`
function __dex_ask
    set -l words (commandline -opc)
    set -l word (commandline -ct | string replace -r '^[\'"]' '' | string unescape)
    $words[1] __complete fish $words "$word" 2>/dev/null
end
function __dex_wants_file
    test (__dex_ask)[1] = ":file" 2>/dev/null
end
complete -c dex -f -n 'not __dex_wants_file' -a '(__dex_ask)'
complete -c dex -n __dex_wants_file -F
"""

_POWERSHELL = r"""# PowerShell completion for dex; made by `dex completion powershell`
Register-ArgumentCompleter -Native -CommandName dex -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements |
        Where-Object { $_.Extent.EndOffset -lt $cursorPosition -or $_.Extent.Text -ne $wordToComplete } |
        ForEach-Object { if ($_.StaticType -eq [string] -and $_.Value) { $_.Value } else { $_.Extent.Text } })
    $program = $words[0]
    & $program __complete powershell @words "$wordToComplete" 2>$null | ForEach-Object {
        $name, $help = $_ -split "`t", 2
        if ($name -eq ':file') { return }
        if (-not $help) { $help = $name }
        $text = if ($name -match '[\s;|&()]') { "'" + $name.Replace("'", "''") + "'" } else { $name }
        [System.Management.Automation.CompletionResult]::new($text, $name, 'ParameterValue', $help)
    }
}
"""

_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH, "powershell": _POWERSHELL}


def script(shell: str) -> str:
    """Give a shell's script."""
    return _SCRIPTS[shell]
