# PowerShell completion for dex; made by `dex completion powershell`
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
