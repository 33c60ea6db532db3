"""Commands that look at Flows (spec: FL-10, FL-12)."""

from typing import Any

import msgspec

from dex.engine.clock import iso
from dex.engine.flows import codec
from dex.engine.flows.keys import split
from dex.engine.flows.polling import poll
from dex.engine.flows.registry import Registry
from dex.engine.flows.runtime.begun import WORKER_LOCK, Begun, under_way
from dex.engine.flows.runtime.parts import Parts
from dex.engine.flows.state import attributes, channels, history, runs, search, steps
from dex.engine.flows.state.runs import Run
from dex.engine.flows.steptype import missing
from dex.engine.reader import Snapshot
from dex.wcl.commands.flowresults import (
    AttributeValues,
    FlowDescription,
    FlowPage,
    FlowState,
    FlowSummary,
    FlowTypeSummary,
    HistoryEvent,
    HistoryPage,
    Message,
    Messages,
    StepState,
)
from dex.wcl.commands.flows import (
    DescribeFlow,
    GetAttributes,
    GetFlowState,
    ListMessages,
    PageHistory,
    SearchFlows,
    ShowFlowTypes,
)
from dex.wcl.edge import to_edge
from dex.wcl.errors import DexError, InvalidCommand


def get_attributes(parts: Parts, command: GetAttributes) -> AttributeValues:
    """Read attributes that are set, by name or all (spec: FL-10).

    Raises:
        FlowNotFoundError: there is no such run.
        FlowDefinitionError: a name is not declared, with the nearest.
    """
    with parts.readers.snapshot() as snapshot:
        run = runs.find(snapshot.connection, command.flow_id, command.run_id)
        if command.names:
            schema = parts.registry.get(run.type).schema
            names = [schema.attribute_key(name) for name in command.names]
            found = attributes.load(snapshot.connection, run.id, names)
        else:
            found = attributes.load_all(snapshot.connection, run.id)
    return AttributeValues({key: value(parts.registry, run, key, stored.data) for key, stored in found.items()})


def list_messages(parts: Parts, command: ListMessages) -> Messages:
    """List pending messages, the oldest first (spec: FL-09).

    Raises:
        FlowDefinitionError: the Channel is not declared.
    """
    with parts.readers.snapshot() as snapshot:
        run = runs.find(snapshot.connection, command.flow_id, None)
        schema = parts.registry.get(run.type).schema
        declared = schema.channel_of_key(command.channel).value_type
        pending = channels.pending(snapshot.connection, run.id, schema.channel_key(command.channel), command.limit)
    return Messages([Message(str(m.id), codec.decode(m.data, declared), iso(m.at)) for m in pending])


def describe(parts: Parts, command: DescribeFlow) -> FlowDescription:
    """Tell all about a run."""
    with parts.readers.snapshot() as snapshot:
        run = runs.find(snapshot.connection, command.flow_id, command.run_id)
        all_steps, open_steps, events, set_attributes = search.counts(snapshot.connection, run.id)
    head = summary(run)
    return FlowDescription(
        **{name: getattr(head, name) for name in head.__struct_fields__},
        attribute_stores=run.attribute_stores,
        timeout_at=None if run.timeout_at is None else iso(run.timeout_at),
        timeout_policy=run.timeout_policy,  # type: ignore[arg-type]  # one of the policies, as it was started with
        input=_input(parts.registry, run),
        output=None if run.output is None else plain(run.output),
        error=run.error,
        steps=all_steps,
        pending_steps=open_steps,
        history_events=events,
        attributes=set_attributes,
        previous_run_id=run.previous_run_id,
    )


def state(parts: Parts, command: GetFlowState) -> FlowState:
    """Tell what a run holds now: its open steps and pending messages."""
    with parts.readers.snapshot() as snapshot:
        run = runs.find(snapshot.connection, command.flow_id, command.run_id)
        found = steps.open_steps(snapshot.connection, run.id)
        sizes = channels.sizes(snapshot.connection, run.id)
    begun = under_way(parts.readers.path.with_name(WORKER_LOCK))
    head = summary(run)
    states = [
        StepState(
            step_execution_id=step.execution_id,
            type=step.type,
            status="waiting" if step.status == "waiting" else "ready",
            attempt=step.attempt,
            due_at=None if step.due_at is None else iso(step.due_at),
            running_since=_since(begun, run, step),
            last_error=step.error,
        )
        for step in found
    ]
    return FlowState(
        flow_id=run.flow_id, run_id=run.run_id, status=head.status, closing=head.closing, steps=states, channels=sizes
    )


def _since(begun: dict[Begun, int], run: Run, step: steps.Step) -> str | None:
    """Give when the attempt that a process has under way began."""
    at = begun.get(Begun.of_step(run, step))
    return None if at is None else iso(at)


def history_page(parts: Parts, command: PageHistory) -> HistoryPage:
    """Read events after a number; an empty page may wait for one, while the run is open."""

    run_id = parts.find_run(command.flow_id, command.run_id).run_id

    def look(snapshot: Snapshot) -> HistoryPage | None:
        run = runs.find(snapshot.connection, command.flow_id, command.run_id)
        found = history.page(snapshot.connection, run.id, command.after, command.limit)
        if not found and run.running:
            return None
        last = history.last_number(snapshot.connection, run.id)
        return HistoryPage(
            [_event(event) for event in found], found[-1].number if found and found[-1].number < last else None
        )

    return poll(parts, run_id, command.wait_ms, look) or HistoryPage([], None)


def search_flows(parts: Parts, command: SearchFlows) -> FlowPage:
    """Find runs, the newest first.

    Raises:
        InvalidCommand: the page token is not one, or a value is not of a type that can be searched for.
        FlowDefinitionError: no run and no definition has this type, or no type has an Attribute, with the nearest.
    """
    scalars = {key: _scalar(key, wanted) for key, wanted in command.attributes.items()}
    with parts.readers.snapshot() as snapshot:
        found = search.search(
            snapshot.connection,
            type_=command.type,
            status=command.status,
            scalars=scalars,
            below=_token(command.page_token),
            limit=command.limit + 1,
        )
        if not found:
            _refuse_unknown(parts.registry, snapshot, command)
    page = found[: command.limit]
    return FlowPage([summary(run) for run in page], str(page[-1].id) if len(found) > len(page) else None)


def _refuse_unknown(registry: Registry, snapshot: Snapshot, command: SearchFlows) -> None:
    """Refuse a type or Attribute that there is none of, unless a run is of a type that this process does not know."""
    recorded = search.types(snapshot.connection)
    if command.type is not None and command.type not in recorded:
        registry.get(command.type)
    asked = (recorded | registry.types.keys()) if command.type is None else {command.type}
    if asked and asked <= registry.types.keys():
        declared = {name for type_ in asked for name in registry.types[type_].schema.attributes}
        whose = "no Flow has" if command.type is None else f"Flow {command.type} has no"
        for name in sorted(command.attributes.keys() - declared):
            raise missing(f"{whose} Attribute", name, declared)


def types(parts: Parts, _command: ShowFlowTypes) -> list[FlowTypeSummary]:
    """List the Flow definitions that this process knows, by name."""
    return [
        FlowTypeSummary(
            name,
            sorted(known.steps),
            sorted(known.rpcs),
            [*sorted(known.schema.attributes), *(f"{map_}/*" for map_ in sorted(known.schema.attribute_maps))],
        )
        for name, known in sorted(parts.registry.types.items())
    ]


def summary(run: Run) -> FlowSummary:
    """Give a run's line in a search."""
    return FlowSummary(
        flow_id=run.flow_id,
        run_id=run.run_id,
        type=run.type,
        status=run.status,  # type: ignore[arg-type]  # one of the statuses, as apply wrote it
        closing=run.closing is not None,
        started_at=iso(run.started_at),
        closed_at=None if run.closed_at is None else iso(run.closed_at),
    )


def value(registry: Registry, run: Run, key: str, data: bytes) -> Any:
    """Give a stored value by its declared type, or plain where this process does not know the type."""
    try:
        declared = registry.get(run.type).schema.attribute(split(key)[0]).value_type
        return codec.decode(data, declared)
    except DexError:
        return plain(data)


def _input(registry: Registry, run: Run) -> Any:
    """Give a run's input by its declared type, as `value` gives attributes."""
    try:
        return codec.decode(run.input, registry.get(run.type).input_type)
    except DexError:
        return plain(run.input)


def plain(data: bytes) -> Any:
    """Give a stored value as dicts, lists and scalars."""
    return to_edge(msgspec.msgpack.decode(data))


def _event(event: history.Event) -> HistoryEvent:
    output = event.detail.get("output")
    shown = event.detail if output is None else {**event.detail, "output": plain(output)}
    return HistoryEvent(
        number=event.number,
        kind=event.kind,
        at=iso(event.at),
        seq=event.seq,
        attributes=[change.key for change in event.changes],
        detail=to_edge(shown),
    )


def _scalar(key: str, wanted: Any) -> str | int | float | bytes:
    scalar = attributes.scalar_of(wanted)
    if scalar is None:
        raise InvalidCommand(
            f"Attribute {key} cannot be searched for {wanted!r}",
            "search for a text, a number, a bool or bytes",
            name=key,
        )
    return scalar


def _token(token: str | None) -> int | None:
    if token is None:
        return None
    if not token.isascii() or not token.isdigit():
        raise InvalidCommand(f"{token!r} is not a page token", "pass the next_page_token of a page", page_token=token)
    return int(token)
