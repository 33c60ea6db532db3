"""What was typed, kept from one shell to the next (spec: P-01)."""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from dex.cli.configfile import base_dir

_SECRETS = re.compile(r"(?<=:)[^\s:/@]+(?=@)|(?<=password=)[^\s&'\"]+|(?<=--token[ =])\S+", re.IGNORECASE)

Note = Callable[[str], None]


class KeptHistory(FileHistory):
    """History in a file. An entry of several lines stays one; secrets are not written (spec: P-01)."""

    def __init__(self, path: Path, note: Note) -> None:
        super().__init__(path)
        self._note: Note | None = note

    def store_string(self, string: str) -> None:
        """Append an entry to the file; where that fails, say so once and go on without."""
        if self._note is None:
            return
        try:
            super().store_string(redacted(string))
        except OSError as error:
            self._note(_off(f"{self.filename!s}: {error.strerror}"))
            self._note = None


def open_history(environ: Mapping[str, str], note: Note) -> History:
    """Open the history file, made for its owner only; where it cannot be kept, say so once and keep none."""
    try:
        path = _path(environ)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600))
    except OSError as error:
        note(_off(f"{error.filename}: {error.strerror}"))
        return InMemoryHistory()
    return KeptHistory(path, note)


def redacted(text: str) -> str:
    """Give a text without the passwords of connection strings and without tokens."""
    return _SECRETS.sub("***", text)


def _path(environ: Mapping[str, str]) -> Path:
    """Give where history is kept. A home that is not there is not made.

    Raises:
        FileNotFoundError: there is no home directory, and XDG_STATE_HOME names no place either.
    """
    home = environ.get("HOME", "")
    if not Path(environ.get("XDG_STATE_HOME", "")).is_absolute() and not Path(home or "/dev/null").is_dir():
        raise FileNotFoundError(2, "there is no home directory", home or "HOME")
    return base_dir(environ, "XDG_STATE_HOME", ".local/state") / "dex" / "history"


def _off(reason: str) -> str:
    return f"history is off: {reason}; set XDG_STATE_HOME to a directory that can be written"
