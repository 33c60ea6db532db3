"""Waiting until a feed-sourced store has caught up."""

import time

from dex.cli.exits import DONE
from dex.cli.interrupts import INTERRUPTED
from dex.cli.session import Session
from dex.wcl.commands import DescribeStateStore

_PAUSE_SECONDS = 0.02


def settle(session: Session, store: str) -> int:
    """Wait until a store holds what its feed has now, and give the exit code.

    The embedded engine does the building meanwhile; a server does it by itself. Ctrl-C ends the wait and not the
    building.
    """
    engine, command = session.engine, DescribeStateStore(name=store)
    try:
        engine.settle()
        described = engine.execute(command)
        end = described.committed_seq
        while described.stage == "building" or described.applied_seq < end:
            time.sleep(_PAUSE_SECONDS)
            described = engine.execute(command)
    except KeyboardInterrupt:
        session.note(f"cancelled the wait; {store} goes on building, and `dex store describe` shows how far it is")
        return INTERRUPTED
    return DONE
