"""Waiting until a feed-sourced store has caught up."""

from dex.cli.exits import DONE
from dex.cli.interrupts import INTERRUPTED
from dex.cli.session import Session


def settle(session: Session, store: str) -> int:
    """Do the building of stores now, and give the exit code; Ctrl-C ends the wait and not the building."""
    try:
        session.engine.settle()
    except KeyboardInterrupt:
        session.note(f"cancelled the wait; {store} goes on building, and `dex store describe` shows how far it is")
        return INTERRUPTED
    return DONE
