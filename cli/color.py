"""Whether a stream gets colour: the flag decides, then NO_COLOR, then FORCE_COLOR, then the terminal."""

from collections.abc import Mapping
from typing import Protocol

RED = "\x1b[31m"
DIM = "\x1b[2m"
RESET = "\x1b[0m"


class Stream(Protocol):
    """What is asked of a stream here."""

    def isatty(self) -> bool:
        """Tell whether a person looks at it."""


def color_variable(environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Give the mode that the environment asks for and the variable that does, or None.

    An empty variable counts as unset, and `FORCE_COLOR=0` as a wish for no colour.
    """
    if environ.get("NO_COLOR"):
        return "never", "NO_COLOR"
    force = environ.get("FORCE_COLOR")
    if force:
        return "never" if force == "0" else "always", "FORCE_COLOR"
    return None


def wants_color(mode: str, stream: Stream, environ: Mapping[str, str]) -> bool:
    """Tell whether `stream` gets colour under auto, always or never; each stream is judged alone."""
    if mode != "auto":
        return mode == "always"
    return stream.isatty() and environ.get("TERM") != "dumb"
