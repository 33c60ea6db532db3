"""Consent to what destroys data: asked on a terminal, needed as --yes elsewhere (spec: X-07)."""

import sys
from typing import Any

import typer

from dex.cli.exits import FAILED
from dex.cli.session import Session
from dex.wcl.commands import ClearStateStore, Command, DescribeFeed, DescribeStateStore, DropFeed, DropStateStore
from dex.wcl.errors import Refused

_FLOW_WORDS = {"stop_flow": "stop", "time_travel": "rewind", "purge_flow": "purge"}
_SHOWN = 20


def confirm(session: Session, commands: list[Command[object]]) -> None:
    """Get consent for the commands that destroy data, all in one question, before any of them runs.

    One alone is looked up first, so that nobody is asked about what is not there.

    Raises:
        Refused: there is no terminal to ask on and no --yes; or what the only command is about is not there.
        Exit: the answer is no, which is said.
    """
    destructive = [command for command in commands if destroys(command)]
    if not destructive or session.yes:
        return
    size = ""
    if len(commands) == 1:
        found = _look_up(session, commands[0])
        if found is None:
            return
        size = found
    deeds = [str(_deed(command, size)) for command in destructive]
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        more = f", and {len(deeds) - 1} more like it" if len(deeds) > 1 else ""
        raise Refused(f"{deeds[0]}{more}, and nobody can be asked; nothing was done", "use --yes")
    shown = "\n".join(deeds[:_SHOWN]) + (f"\nand {len(deeds) - _SHOWN} more" if len(deeds) > _SHOWN else "")
    sys.stderr.write(f"{shown}. Go on? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        session.tell("nothing was done")
        raise typer.Exit(FAILED)


def destroys(command: Command[object]) -> bool:
    """Tell whether a command destroys data."""
    return _deed(command, "") is not None


def _deed(command: Any, size: str) -> str | None:
    """Say what a command destroys, None where it destroys nothing. Flows are told by tag, to start without them."""
    if isinstance(command, DropStateStore):
        return f"DROP STATESTORE {command.name} destroys its {size}rows"
    if isinstance(command, ClearStateStore):
        return f"clearing {command.name} destroys its {size}rows"
    if isinstance(command, DropFeed):
        return f"DROP FEED {command.name} destroys its {size}records"
    word = _FLOW_WORDS.get(str(command.__struct_config__.tag))
    if word is None:
        return None
    return f"to {word} run {command.run_id or 'latest'} of Flow {command.flow_id} cannot be undone"


def _look_up(session: Session, command: Any) -> str | None:
    """Give how many rows or records would go, or None where there is nothing to ask about.

    Raises:
        Refused: it is not there.
    """
    try:
        if isinstance(command, DropFeed):
            feed = session.engine.execute(DescribeFeed(name=command.name))
            return None if feed.stage == "dropped" else f"{feed.records} "
        if isinstance(command, DropStateStore | ClearStateStore):
            store = session.engine.execute(DescribeStateStore(name=command.name))
            return None if store.stage == "dropped" else f"{store.rows} "
    except Refused:
        if getattr(command, "if_exists", False):
            return None
        raise
    from dex.wcl.commands.flows import DescribeFlow

    session.engine.execute(DescribeFlow(flow_id=command.flow_id, run_id=command.run_id))
    return ""
