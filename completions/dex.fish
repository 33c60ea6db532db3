# fish completion for dex; made by `dex completion fish`
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
