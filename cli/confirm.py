"""Consent to what destroys data: asked on a terminal, needed as --yes elsewhere (spec: X-07)."""

import sys
from typing import Any

from dex.cli.session import Session
from dex.wcl.commands import ClearStateStore, Command, DropFeed, DropStateStore
from dex.wcl.errors import Refused

_WORDS: dict[type[Any], str] = {
    DropStateStore: "drop state store",
    DropFeed: "drop feed",
    ClearStateStore: "clear state store",
}
_FLOW_WORDS = {"stop_flow": "stop", "time_travel": "rewind", "purge_flow": "purge"}


def confirm(session: Session, commands: list[Command[object]]) -> None:
    """Get consent for the commands that destroy data, all in one question, before any of them runs.

    Raises:
        Refused: there is no terminal to ask on and no --yes, or the answer is no.
    """
    deeds = [deed for deed in map(_deed, commands) if deed is not None]
    if not deeds or session.yes:
        return
    what = deeds[0] if len(deeds) == 1 else f"{deeds[0]} and {len(deeds) - 1} more"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Refused(f"to {what} cannot be undone and nobody can be asked; nothing was done", "use --yes")
    sys.stderr.write(f"Really {', '.join(deeds[:20])}{' …' if len(deeds) > 20 else ''}? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Refused("not confirmed; nothing was done", "answer y, or use --yes")


def _deed(command: Any) -> str | None:
    """Say what a command destroys, None where it destroys nothing. Flows are told by tag, to start without them."""
    if type(command) in _WORDS:
        return f"{_WORDS[type(command)]} {command.name}"
    word = _FLOW_WORDS.get(str(command.__struct_config__.tag))
    return None if word is None else f"{word} run {command.run_id or 'latest'} of Flow {command.flow_id}"
