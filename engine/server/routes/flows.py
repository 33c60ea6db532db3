"""Looking at Flows, and waiting for them (spec: FL-10, FL-12, K-01)."""

from typing import Any, get_args

from dex.engine.server.call import Call, Parameter
from dex.engine.server.route import Items, Request, Route, named, reads
from dex.engine.server.routes.parameters import CREATED, UPDATED, limit, position, wait
from dex.wcl.commands.flowresults import (
    AttributeValues,
    FlowDescription,
    FlowPage,
    FlowResult,
    FlowState,
    FlowSummary,
    FlowTypeSummary,
    HistoryEvent,
    HistoryPage,
    Message,
    Messages,
    Status,
)
from dex.wcl.commands.flows import (
    MAX_FLOW_PAGE,
    DescribeFlow,
    GetAttributes,
    GetFlowState,
    ListMessages,
    PageHistory,
    SearchFlows,
    ShowFlowTypes,
    WaitForFlow,
)
from dex.wcl.errors import InputError
from dex.wcl.jsontext import read_json
from dex.wcl.shown import shown

_FLOW_ID = Parameter("flow_id", str, "The Flow ID.", example="order-1")
_RUN_ID = Parameter("run_id", str, "The run; without it, the latest.", example="0190163d-8694-7394-ad9d-1b6a44a0f3b1")
_AFTER = position("The number of the event to go on after.")
_PART_EVENTS = 100


def _search(call: Call) -> SearchFlows:
    return SearchFlows(attributes=_attributes(call.all("attr")), **call.given())


def _attributes(assignments: list[str]) -> dict[str, Any]:
    """Read `NAME=text` and `NAME:=JSON`.

    Raises:
        InputError: one is no assignment, or a name comes twice.
    """
    found: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        typed, name = name.endswith(":"), name.removesuffix(":")
        if not equals or not name:
            raise InputError(f"{shown(assignment)} is no attr", "write attr=NAME=text or attr=NAME:=JSON")
        if name in found:
            raise InputError(f"attr {shown(name)} is given twice", "give each attribute one value")
        remedy = 'quote text, as in :="text"'
        found[name] = read_json(text, f"the value in {shown(assignment)}", remedy) if typed else text
    return found


def _get_attributes(call: Call) -> GetAttributes:
    return GetAttributes(names=call.all("name"), **named(call, "flow_id"))


async def _watch(call: Call, request: Request) -> Items:
    flow_id, after = call.text("flow_id"), call.get("after")
    head = await request.dispatcher.read(DescribeFlow(flow_id=flow_id, run_id=call.get("run_id")))
    page = PageHistory(flow_id=flow_id, run_id=head.run_id, after=after, limit=_PART_EVENTS)
    return _follow(page, request)


async def _follow(page: PageHistory, request: Request) -> Items:
    """Give the events of a run until it is closed: none follows then, so a page read after that is the last."""
    dispatcher, after, closed = request.dispatcher, page.after, False
    while not dispatcher.stopping.is_set():
        seen = dispatcher.journal.seen
        found = await dispatcher.read(
            PageHistory(flow_id=page.flow_id, run_id=page.run_id, after=after, limit=page.limit)
        )
        if found.events:
            after = found.events[-1].number
            yield found.events
        elif closed:
            return
        else:
            head = await dispatcher.read(DescribeFlow(flow_id=page.flow_id, run_id=page.run_id))
            closed = head.status != "running"
            if not closed:
                await dispatcher.journal.beyond(seen)


_SUMMARY = {
    "flow_id": "order-1",
    "run_id": _RUN_ID.example,
    "type": "OrderFlow",
    "status": "completed",
    "closing": False,
    "started_at": CREATED,
    "closed_at": UPDATED,
}
_EVENT = HistoryEvent(number=1, kind="started", at=CREATED, seq=12, attributes=["Status"], detail={})

ROUTES = (
    Route(
        method="GET",
        path="/v1/flows",
        summary="Find runs, the newest first, by type, status and attribute values",
        tag="flows",
        parameters=(
            Parameter("type", str, "Only runs of this Flow type.", example="OrderFlow"),
            Parameter("status", str, "Only runs of this status.", example="running", choices=get_args(Status)),
            limit(MAX_FLOW_PAGE, 100, "runs"),
            Parameter("page_token", str, "The `next_page_token` of a page.", example="17"),
            Parameter(
                "attr", str, "An attribute's value: `NAME=text` or `NAME:=JSON`.", example="Status=open", repeated=True
            ),
        ),
        answer=reads(_search),
        result=FlowPage,
        result_example=FlowPage([FlowSummary(**_SUMMARY)], None),
    ),
    Route(
        method="GET",
        path="/v1/flows/types",
        summary="List the Flow definitions that are loaded; a Flow ID that is `types` is written `%74ypes`",
        tag="flows",
        answer=reads(lambda _: ShowFlowTypes()),
        result=list[FlowTypeSummary],
        result_example=[FlowTypeSummary("OrderFlow", ["Charge"], ["Cancel"], ["Status"])],
    ),
    Route(
        method="GET",
        path="/v1/flows/{flow_id}",
        summary="Tell all about a run",
        tag="flows",
        parts=(_FLOW_ID,),
        parameters=(_RUN_ID,),
        answer=reads(lambda call: DescribeFlow(**named(call, "flow_id"))),
        result=FlowDescription,
        result_example=FlowDescription(
            **_SUMMARY,
            attribute_stores=["orders"],
            timeout_at=None,
            timeout_policy="fail",
            input={"customerId": "c-1"},
            output="paid",
            error=None,
            steps=1,
            pending_steps=0,
            history_events=3,
            attributes=1,
            previous_run_id=None,
        ),
        errors=(404,),
    ),
    Route(
        method="GET",
        path="/v1/flows/{flow_id}/state",
        summary="Tell what a run holds now: steps that are not over, and pending messages by Channel",
        tag="flows",
        parts=(_FLOW_ID,),
        parameters=(_RUN_ID,),
        answer=reads(lambda call: GetFlowState(**named(call, "flow_id"))),
        result=FlowState,
        result_example=FlowState(
            flow_id="order-1",
            run_id=_RUN_ID.example,
            status="running",
            closing=False,
            steps=[],
            channels={"Payments": 1},
        ),
        errors=(404,),
    ),
    Route(
        method="GET",
        path="/v1/flows/{flow_id}/history",
        summary="Read a page of a run's events, one for each commit; an empty one may wait for an event",
        tag="flows",
        parts=(_FLOW_ID,),
        parameters=(
            _RUN_ID,
            _AFTER,
            limit(MAX_FLOW_PAGE, 100, "events"),
            wait("How many milliseconds to wait for an event if there is none yet.", 0),
        ),
        answer=reads(lambda call: PageHistory(**named(call, "flow_id"))),
        result=HistoryPage,
        result_example=HistoryPage([_EVENT], None),
        errors=(404,),
    ),
    Route(
        method="GET",
        path="/v1/flows/{flow_id}/attributes",
        summary="Read attributes by name, or all that are set",
        tag="flows",
        parts=(_FLOW_ID,),
        parameters=(
            Parameter(
                "name", str, "An attribute, or `Map/instance`; without one, all.", example="Status", repeated=True
            ),
            _RUN_ID,
        ),
        answer=reads(_get_attributes),
        result=AttributeValues,
        result_example=AttributeValues({"Status": "paid"}),
        errors=(404,),
    ),
    Route(
        method="GET",
        path="/v1/flows/{flow_id}/channels/{channel}",
        summary="List the pending messages of a Channel, the oldest first",
        tag="flows",
        parts=(_FLOW_ID, Parameter("channel", str, "The Channel, or `Map/instance`.", example="Payments")),
        parameters=(limit(MAX_FLOW_PAGE, 100, "messages"),),
        answer=reads(lambda call: ListMessages(**named(call, "flow_id", "channel"))),
        result=Messages,
        result_example=Messages([Message("1", {"amount": 400}, CREATED)]),
        errors=(404,),
    ),
    Route(
        method="GET",
        path="/v1/flows/{flow_id}/watch",
        summary="Stream the events of a run, one JSON document a line, until it is closed",
        tag="flows",
        parts=(_FLOW_ID,),
        parameters=(_RUN_ID, _AFTER),
        answer=_watch,
        result=HistoryEvent,
        result_example=_EVENT,
        stream=True,
        errors=(404,),
    ),
    Route(
        method="GET",
        path="/v1/flows/{flow_id}/wait",
        summary="Wait until a run is closed, and give how it ended",
        tag="flows",
        parts=(_FLOW_ID,),
        parameters=(_RUN_ID, wait("How many milliseconds to wait; 503 where the run is still open then.", 60_000)),
        answer=reads(lambda call: WaitForFlow(**named(call, "flow_id"))),
        result=FlowResult,
        result_example=FlowResult(
            flow_id="order-1", run_id=_RUN_ID.example, status="completed", output="paid", error=None
        ),
        errors=(404,),
    ),
)
