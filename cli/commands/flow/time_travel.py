"""`dex flow time-travel` (spec: FL-11, FL-13, X-07)."""

from datetime import datetime
from typing import Annotated

import typer

from dex.cli.confirm import confirm
from dex.cli.params import ExactRunId, FlowId
from dex.cli.session import Ctx
from dex.wcl.commands.flows import Beginning, Event, StepExecution, StepType, Target, Time, TimeTravel
from dex.wcl.errors import InputError

EXAMPLES = """
dex flow time-travel order-1 --run-id 0b1d7c... --to beginning --reason "wrong price" --yes
dex flow time-travel order-1 --run-id 0b1d7c... --to event:12 --reason "bad deploy" --yes
dex flow time-travel order-1 --run-id 0b1d7c... --to time:2026-03-01T09:00:00Z --reason "bad deploy" --yes
dex flow time-travel order-1 --run-id 0b1d7c... --to step:Ship --reason "lost parcel" --yes
"""

_PLACES = "beginning, event:N, time:T, step:TYPE or step-execution:ID"


def run(
    ctx: Ctx,
    flow_id: FlowId,
    run_id: ExactRunId,
    to: Annotated[str, typer.Option("--to", metavar="PLACE", help=f"{_PLACES}.")],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for the history.")],
) -> None:
    """Go on from a past state in a new run.

    The run is closed if it is open. Asks on a terminal and needs --yes elsewhere.
    """
    command = TimeTravel(flow_id=flow_id, run_id=run_id, to=_place(to), reason=reason)
    confirm(ctx.obj, [command])
    ctx.obj.out.result(ctx.obj.engine.execute(command))


def _place(text: str) -> Target:
    kind, _, where = text.partition(":")
    if text == "beginning":
        return Beginning()
    if kind == "event" and where.isdecimal():
        return Event(int(where))
    if kind == "time":
        return Time(_milliseconds(where))
    if kind == "step" and where:
        return StepType(where)
    if kind == "step-execution" and where:
        return StepExecution(where)
    raise InputError(f"--to {text!r} is no place in a history", f"write {_PLACES}")


def _milliseconds(text: str) -> int:
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError(f"{text!r} is no time", "write one such as 2026-03-01T09:00:00Z") from error
    if at.tzinfo is None:
        raise InputError(f"the time {text!r} has no zone", "end it with Z or an offset such as +02:00")
    return int(at.timestamp() * 1000)
