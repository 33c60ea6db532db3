"""What the commands share that work Steps: `dex flow run` and those that wait."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from dex.cli.output import prints_aside
from dex.cli.session import Session
from dex.wcl.commands.flows import DescribeFlow, WaitForAttribute, WaitForFlow, WaitForStep


def wait_for(session: Session, command: WaitForFlow | WaitForStep | WaitForAttribute) -> None:
    """Wait for something of a Flow and write what came; this process works Steps meanwhile.

    Raises:
        DexError: as the command does.
    """
    session.only_reads = True
    # An attribute of an unknown type is an error of its own.
    if session.endpoint is None and not isinstance(command, WaitForAttribute):
        _note_unknown(session, command)
    with worker_notes(session):
        found = session.engine.execute(command)
    session.out.result(found)


@contextmanager
def worker_notes(session: Session) -> Iterator[None]:
    """Write what the worker has to say, such as which Step hangs, and what handlers print, on standard error."""
    logger = logging.getLogger("dex.flows")
    handler = _Notes(session)
    propagate = logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        with prints_aside():
            yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagate


class _Notes(logging.Handler):
    def __init__(self, session: Session) -> None:
        super().__init__(logging.WARNING)
        self._session = session

    def emit(self, record: logging.LogRecord) -> None:
        self._session.note(record.getMessage())


def _note_unknown(session: Session, command: WaitForFlow | WaitForStep) -> None:
    """Say that nothing here works the Flow, where this process does not know its type."""
    run_id = command.run_id if isinstance(command, WaitForFlow) else None
    run = session.engine.execute(DescribeFlow(flow_id=command.flow_id, run_id=run_id))
    if run.status == "running" and run.type not in session.local.flows.parts.registry.types:
        session.note(f"this process does not know Flow type {run.type} and works none of its Steps; name it by --flows")
