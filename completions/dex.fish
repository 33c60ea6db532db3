# fish completion for dex; made by `dex completion fish`
function __dex_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct | string replace -r '^[\'"]' '' | string unescape)
    set -l found ($words[1] __complete fish $words "$word" 2>/dev/null)
    if test "$found[1]" = ":file"
        __fish_complete_path (commandline -ct)
    else if set -q found[1]
        printf '%s\n' $found
    end
end
complete -c dex -f -a '(__dex_complete)'
