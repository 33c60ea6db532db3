r"""The backslash commands: one row each of COMMANDS, which `\?` and completion read too (spec: P-01)."""

import os
import sys
from collections.abc import Callable
from typing import NamedTuple, Protocol

from dex.cli.settings import FORMATS
from dex.cli.shell import editor
from dex.cli.shell.input import WORDS, kind_of, split_words
from dex.cli.shell.results import Results
from dex.wcl.errors import InputError
from dex.wcl.names import did_you_mean

MODES = ("vi", "emacs")


class Shell(Protocol):
    """What a backslash command may do to the shell: what the person has set, and what it can run and say."""

    results: Results
    form: str
    timing: bool
    leaving: bool
    last: str
    draft: str
    mode: str

    def run_command(self, arguments: list[str]) -> None:
        """Run a command line of `dex`."""

    def include(self, file: str) -> None:
        """Carry out what is in a file."""

    def note(self, text: str) -> None:
        """Tell the person something that is no result."""


class Meta(NamedTuple):
    """A backslash command: its argument as completion knows it, its help, and what it does with the argument."""

    argument: str
    help: str
    run: Callable[[Shell, str | None], None]


def run_meta(shell: Shell, text: str) -> None:
    """Carry out a backslash command, or a plain word that means one.

    Raises:
        InputError: it is unknown, has too many words, or what the command raises.
    """
    first, *words = split_words(text, escape="")
    name = WORDS.get(first, first)
    if name not in COMMANDS:
        raise InputError(f"there is no command {name}", did_you_mean(name, COMMANDS) or r"\? lists them")
    if name == r"\?" and words:
        _help_on(shell, words)
        return
    if len(words) > 1 or (words and not COMMANDS[name].argument):
        raise InputError(f"too many words after {name}", r"\? shows how it is written; quote what has spaces")
    COMMANDS[name].run(shell, words[0] if words else None)


def help_text() -> str:
    """Give what the shell can be told, a line each."""
    width = max(len(f"{name} {meta.argument}") for name, meta in COMMANDS.items()) + 2
    lines = [f"  {f'{name} {meta.argument}':{width}}{meta.help}" for name, meta in COMMANDS.items()]
    return _HELP.format(commands="\n".join(lines))


def _help_on(shell: Shell, words: list[str]) -> None:
    if kind_of(" ".join(words)) == "cli":
        shell.run_command([*words, "--help"])
    elif words[0] in COMMANDS:
        shell.note(f"{words[0]} {COMMANDS[words[0]].argument}  {COMMANDS[words[0]].help}")
    else:
        _help(shell, None)


def _help(shell: Shell, _argument: str | None) -> None:
    with shell.results.screen():
        sys.stdout.write(help_text())


def _quit(shell: Shell, _argument: str | None) -> None:
    shell.leaving = True


def _timing(shell: Shell, _argument: str | None) -> None:
    shell.timing = not shell.timing
    shell.note(f"timing is {'on' if shell.timing else 'off'}")


def _output(shell: Shell, path: str | None) -> None:
    shell.results.send_to(path)
    shell.note("results go to the screen" if path is None else f"results go to {path}")


def _format(shell: Shell, form: str | None) -> None:
    shell.form = _chosen(form, FORMATS, "output format", shell.form)
    shell.note(f"the output format is {shell.form}")


def _mode(shell: Shell, mode: str | None) -> None:
    shell.mode = _chosen(mode, MODES, "editing mode", shell.mode)
    shell.note(f"the editing mode is {shell.mode}")


def _chosen(word: str | None, allowed: tuple[str, ...], what: str, present: str) -> str:
    if word is None:
        return present
    if word not in allowed:
        raise InputError(f"{word!r} is no {what}", did_you_mean(word, allowed) or f"use one of {', '.join(allowed)}")
    return word


def _edit(shell: Shell, path: str | None) -> None:
    shell.draft = editor.edit(shell.last) if path is None else editor.edit_file(path)


def _include(shell: Shell, path: str | None) -> None:
    if path is None:
        raise InputError(r"\i needs a file", r"write \i FILE")
    shell.include(os.path.expanduser(path))  # noqa: PTH111 - what is no path, as a pattern, stays as it is


def _stores(shell: Shell, name: str | None) -> None:
    shell.run_command(["store", "list"] if name is None else ["store", "describe", "--", name])


def _feeds(shell: Shell, name: str | None) -> None:
    shell.run_command(["feed", "list"] if name is None else ["feed", "describe", "--", name])


COMMANDS: dict[str, Meta] = {
    r"\?": Meta("[COMMAND]", "show this help, or the help of a command", _help),
    r"\q": Meta("", "leave, as Ctrl-D does", _quit),
    r"\d": Meta("[STORE]", "list the stores, or describe one", _stores),
    r"\df": Meta("[FEED]", "list the feeds, or describe one", _feeds),
    r"\i": Meta("FILE", "run a file: WCL as `batch` does, or what can be typed here", _include),
    r"\e": Meta("[FILE]", "edit the last or half-typed statement or a file; Enter runs it", _edit),
    r"\o": Meta("[FILE]", "send results to a file, or back to the screen", _output),
    r"\format": Meta("[FORMAT]", f"show results as one of {', '.join(FORMATS)}", _format),
    r"\timing": Meta("", "say after each command how long it took, or stop that", _timing),
    r"\mode": Meta("[vi|emacs]", "edit as in vi or emacs", _mode),
}

_HELP = r"""WCL, up to a ; on any line:
  DEFINE STATESTORE name [KEYS key [UNIQUE], ...];
  DEFINE STATESTORE name FROM FEED feed KEYS key = EXTRACTOR [UNIQUE], ...;
      EXTRACTOR is METADATA 'name', JSON 'a.b' or RECORD_KEY
  DEFINE FEED name;
  DROP STATESTORE name;   DESCRIBE STATESTORE name;   SHOW STATESTORES;
  DROP FEED name;         DESCRIBE FEED name;         SHOW FEEDS;
Every command of dex, without the leading dex, on one line:
  store put accounts.employees user-1 hello --named department=eng
  help store put
A typed command, as JSON:
  {{"command": "show_state_stores"}}
Commands of the shell:
{commands}
Keys:
  Tab completes, Up recalls, Ctrl-R searches, Ctrl-D leaves.
  Ctrl-C cancels what is typed, or the command that runs.
  Ctrl-X Ctrl-E (v in vi mode) opens what is typed in your editor.
"""
