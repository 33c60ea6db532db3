"""Puts a completion script where its shell finds it."""

from collections.abc import Mapping
from pathlib import Path
from shlex import quote

from dex.cli.completion.scripts import FILES, script
from dex.cli.configfile import base_dir

_MARK = "# dex completion"


def install(shell: str, environ: Mapping[str, str]) -> list[Path]:
    """Write a shell's script, and the line in its start-up file where it needs one; running it again changes nothing.

    Gives the files that were written or changed.

    Raises:
        OSError: a file cannot be written.
    """
    home = base_dir(environ, "", "")
    data = base_dir(environ, "XDG_DATA_HOME", ".local/share")
    config = base_dir(environ, "XDG_CONFIG_HOME", ".config")
    target = {
        "bash": data / "bash-completion" / "completions" / "dex",
        "zsh": data / "zsh" / "site-functions" / FILES["zsh"],
        "fish": config / "fish" / "completions" / FILES["fish"],
        "powershell": config / "powershell" / FILES["powershell"],
    }[shell]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(script(shell), encoding="utf-8")
    zsh_home = environ.get("ZDOTDIR")
    start_up = {
        "bash": (home / ".bashrc", f"[ ! -r {quote(str(target))} ] || . {quote(str(target))}"),
        "zsh": (
            (Path(zsh_home) if zsh_home else home) / ".zshrc",
            f"(( $+functions[compdef] )) || {{ autoload -Uz compinit && compinit }}; source {quote(str(target))}",
        ),
        "powershell": (config / "powershell" / "profile.ps1", f". '{str(target).replace(chr(39), chr(39) * 2)}'"),
    }
    changed = [target]
    if shell in start_up:
        file, line = start_up[shell]
        if _add_line(file, f"{line}  {_MARK}"):
            changed.append(file)
    return changed


def _add_line(file: Path, line: str) -> bool:
    """Add a line to a file unless it is there; tell whether it was added."""
    text = file.read_text(encoding="utf-8", errors="surrogateescape") if file.exists() else ""
    if line in text.splitlines():
        return False
    with file.open("a", encoding="utf-8") as stream:
        stream.write(("" if not text or text.endswith("\n") else "\n") + line + "\n")
    return True
