"""What Typer says about wrong arguments, in the words of every other error (spec: X-08)."""

from typing import Any

from dex.wcl.errors import InputError
from dex.wcl.names import did_you_mean


def usage_facts(error: Any) -> dict[str, Any]:
    """Give kind, message and remedy of a Typer usage error."""
    message = str(error.message if hasattr(error, "possibilities") else error.format_message())
    message = message[:1].lower() + message[1:].rstrip(".")
    path = error.ctx.command_path if getattr(error, "ctx", None) else "dex"
    remedy = f"see `{path} --help`"
    if getattr(error, "possibilities", None):
        remedy = f"did you mean {error.possibilities[0]}?"
    return {"kind": "usage", "message": message, "remedy": remedy}


def unknown_command(word: str, path: str, known: list[str]) -> InputError:
    """Give the error for a command that does not exist."""
    hint = did_you_mean(word, known) or f"see `{path} --help`"
    return InputError(f"there is no command {word!r} under `{path}`", hint, command=word)
