"""Editing text in the person's editor (spec: P-01)."""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from dex.cli.values import read_text
from dex.wcl.errors import InputError

DEFAULT = "vi"


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """Give the editor's program and options: $VISUAL, else $EDITOR, split as a shell would, else vi.

    Raises:
        InputError: the variable has a quote that is not closed.
    """
    for variable in ("VISUAL", "EDITOR"):
        given = environ.get(variable, "")
        try:
            command = shlex.split(given)
        except ValueError as error:
            raise InputError(f"{variable} is {given!r}, in which a quote is not closed", "correct it") from error
        if command:
            return command
    return [DEFAULT]


def edit(text: str) -> str:
    """Let the person edit a text, and give it without the line breaks at its end.

    Raises:
        InputError: as `edit_file`.
    """
    with tempfile.TemporaryDirectory(prefix="dex-") as folder:
        path = Path(folder) / "statement.wcl"
        path.write_text(f"{text}\n" if text else "", encoding="utf-8")
        return edit_file(str(path))


def edit_file(path: str) -> str:
    """Let the person edit a file, which need not exist yet, and give its text.

    Raises:
        InputError: the editor is not there or fails, or the file cannot be read as UTF-8.
    """
    command = editor_command(os.environ)
    try:
        status = subprocess.run([*command, path], check=False).returncode
    except OSError as error:
        raise InputError(f"the editor {command[0]!r} cannot be started: {error.strerror}", "set EDITOR") from error
    if status:
        raise InputError(f"the editor {command[0]!r} ended with status {status}", "nothing was taken over")
    return read_text(path).rstrip() if Path(path).exists() else ""
