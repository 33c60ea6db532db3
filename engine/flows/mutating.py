"""Commands that change Flows without running a handler."""

from collections.abc import Sequence
from typing import Any

import msgspec

from dex.engine.clock import LATEST_MS, iso
from dex.engine.flows import codec
from dex.engine.flows.edge import from_edge
from dex.engine.flows.flowtype import FlowType
from dex.engine.flows.records import (
    AttributesErased,
    ConfigUpdated,
    NewStep,
    Publish,
    RunCommitted,
    RunPurged,
    RunStarted,
    RunStopped,
    RunTraveled,
    TimersFired,
    Write,
)
from dex.engine.flows.retry import RetryPolicy
from dex.engine.flows.runtime.effects import write_of
from dex.engine.flows.runtime.parts import Parts
from dex.engine.flows.state import channels, history, runs, steps, waits
from dex.engine.flows.state.runs import Run
from dex.engine.flows.wait import TimerCondition
from dex.wcl.commands.flowresults import Accepted, FlowStarted
from dex.wcl.commands.flows import (
    Beginning,
    DeleteMessages,
    Encoded,
    Event,
    PublishMessages,
    PurgeFlow,
    RetrySettings,
    SetAttributes,
    SkipTimer,
    StartFlow,
    StepExecution,
    StepType,
    StopFlow,
    Time,
    TimeTravel,
    UpdateFlowConfig,
)
from dex.wcl.errors import NotFound, Refused, ValueMappingError
from dex.wcl.names import did_you_mean


def start(parts: Parts, command: StartFlow) -> FlowStarted:
    """Start a run (spec: FL-01, FL-02).

    Raises:
        FlowDefinitionError: there is no such type, or an attribute is not declared.
        ValueMappingError: the input or a value is not of its type.
        FlowAlreadyStartedError: the Flow ID is taken.
    """
    flow_type = parts.registry.get(command.type)
    _check_stores(parts, command.attribute_stores)
    started: Any = parts.commit(
        RunStarted(
            flow_id=command.flow_id,
            run_id=parts.clock.new_id(),
            type=flow_type.name,
            input=_encode_input(command.input, flow_type.input_type, f"Flow {flow_type.name}"),
            writes=_writes(flow_type, command.attributes),
            steps=_first_step(flow_type, command.input),
            attribute_stores=command.attribute_stores,
            timeout_ms=command.timeout_ms,
            timeout_policy=command.timeout_policy,
            start_delay_ms=command.start_delay_ms,
            id_reuse=command.id_reuse,
            ignore_already_started=command.ignore_already_started,
            request_id=command.request_id,
            retry_policy=_retry(command.retry_policy),
        )
    )
    return started  # type: ignore[no-any-return]  # as the apply function gives it


def set_attributes(parts: Parts, command: SetAttributes) -> Accepted:
    """Write attributes; of a closed run only hard-delete ones can be erased, with null (spec: FL-10, FL-16).

    Raises:
        FlowNotFoundError, FlowNotActiveOrNotFoundError: the Flow has no run, or it is closed.
        FlowDefinitionError, ValueMappingError: an attribute is not declared, or a value not of its type.
    """
    run, flow_type = _find(parts, command.flow_id, command.run_id)
    writes = _writes(flow_type, command.attributes)
    if run.running:
        return _accepted(parts, RunCommitted(run_id=run.run_id, kind="set_attributes", writes=writes))
    for write in writes:
        if write.data is not None or not flow_type.schema.attribute_of_key(write.key).hard_delete_on_null:
            raise runs.not_active(command.flow_id, run)
    keys, synced = [write.key for write in writes], [write.key for write in writes if write.synced]
    return _accepted(parts, AttributesErased(run_id=run.run_id, keys=keys, synced=synced))


def publish(parts: Parts, command: PublishMessages) -> Accepted:
    """Publish messages (spec: FL-09).

    Raises:
        FlowNotFoundError, FlowNotActiveOrNotFoundError: the Flow has no run, or it is closed.
        FlowDefinitionError, ValueMappingError: the Channel is not declared, or a message not of its type.
    """
    run, flow_type = _find(parts, command.flow_id, None)
    declared = flow_type.schema.channel_of_key(command.channel).value_type
    key = flow_type.schema.channel_key(command.channel)
    publishes = [Publish(key, _encode(message, declared, f"message of Channel {key}")) for message in command.messages]
    detail = {"channel": key}
    return _accepted(parts, RunCommitted(run_id=run.run_id, kind="published", publishes=publishes, detail=detail))


def delete_messages(parts: Parts, command: DeleteMessages) -> Accepted:
    """Delete pending messages, all or none (spec: FL-09).

    Raises:
        ChannelMessageNotFoundError: one is not pending in the Channel.
        FlowClosingError: the run is closing (spec: FL-15).
    """
    run, flow_type = _find(parts, command.flow_id, None)
    key = flow_type.schema.channel_key(command.channel)
    deletes = [(key, channels.parse_id(key, message_id)) for message_id in command.message_ids]
    detail = {"channel": key, "messages": command.message_ids}
    return _accepted(parts, RunCommitted(run_id=run.run_id, kind="messages_deleted", deletes=deletes, detail=detail))


def stop(parts: Parts, command: StopFlow) -> Accepted:
    """Close a run at once (spec: FL-11)."""
    run = parts.find_run(command.flow_id, command.run_id)
    return _accepted(parts, RunStopped(run_id=run.run_id, kind=command.kind, reason=command.reason))


def time_travel(parts: Parts, command: TimeTravel) -> FlowStarted:
    """Go on from a past state of a run in a new one (spec: FL-13).

    Raises:
        NotFound: the run has no such event or step.
    """
    with parts.readers.snapshot() as snapshot:
        run = runs.find(snapshot.connection, command.flow_id, command.run_id)
        event = _event(parts, snapshot.connection, run, command.to)
    record = RunTraveled(
        run_id=run.run_id,
        new_run_id=parts.clock.new_id(),
        event=event,
        reason=command.reason,
        synced=sorted(parts.registry.get(run.type).schema.synced) if run.attribute_stores else [],
    )
    started: Any = parts.commit(record)
    return started  # type: ignore[no-any-return]  # as the apply function gives it


def purge(parts: Parts, command: PurgeFlow) -> Accepted:
    """Delete a closed run."""
    return _accepted(parts, RunPurged(run_id=parts.find_run(command.flow_id, command.run_id).run_id))


def skip_timer(parts: Parts, command: SkipTimer) -> Accepted:
    """Fire a timer of a waiting step now.

    Raises:
        NotFound: the step does not wait, or has no such timer.
    """
    run = parts.find_run(command.flow_id, None)
    found = steps.split_id(command.step_execution_id)
    with parts.readers.snapshot() as snapshot:
        step = steps.get(snapshot.connection, run.id, *found) if found else None
    if step is None or step.status != "waiting" or step.wait is None:
        raise NotFound(
            f"step {command.step_execution_id!r} of Flow {command.flow_id!r} is not waiting", "see `dex flow state`"
        )
    timers = waits.decode(step.wait).wait.timers
    for number, timer in enumerate(timers):
        if number == command.index or (command.condition_id and timer.condition_id == command.condition_id):
            record = TimersFired(run_id=run.run_id, type=step.type, number=step.number, timers=[number])
            return _accepted(parts, record)
    raise NotFound(
        f"step {command.step_execution_id!r} has no timer {command.condition_id or command.index!r}",
        _named_timers(timers),
    )


def _named_timers(timers: Sequence[TimerCondition]) -> str:
    if not timers:
        return "it waits for none"
    ids = ", ".join(timer.condition_id or str(number) for number, timer in enumerate(timers))
    return f"its timers are {ids}; name one by its condition id, or by its number from 0"


def update_config(parts: Parts, command: UpdateFlowConfig) -> Accepted:
    """Change the stores that a run is synced to."""
    _check_stores(parts, command.attribute_stores)
    run = parts.find_run(command.flow_id, None)
    return _accepted(parts, ConfigUpdated(run_id=run.run_id, attribute_stores=command.attribute_stores))


def _accepted(parts: Parts, record: Any) -> Accepted:
    result: Any = parts.commit(record)
    return result  # type: ignore[no-any-return]  # as the apply functions give it


def _check_stores(parts: Parts, names: list[str]) -> None:
    """Refuse Attribute Stores that are not configured (spec: Y-04).

    Raises:
        Refused: naming the first such store, with the nearest name.
    """
    for name in names:
        if name not in parts.attribute_stores:
            known = sorted(parts.attribute_stores)
            none = "none is configured; name a file by --sync-config, or by sync_config of dex.connect"
            listing = f"configured: {', '.join(known)}" if known else none
            raise Refused(
                f"there is no Attribute Store {name!r}", did_you_mean(name, known) or listing, store=name, known=known
            )


def _find(parts: Parts, flow_id: str, run_id: str | None) -> tuple[Run, FlowType]:
    run = parts.find_run(flow_id, run_id)
    return run, parts.registry.get(run.type)


def _first_step(flow_type: FlowType, value: Any) -> list[NewStep]:
    step = flow_type.start_step
    if step is None:
        return []
    return [NewStep(step.name, _encode_input(value, step.input_type, f"Step {step.name}"))]


def _writes(flow_type: FlowType, attributes: dict[str, Any]) -> list[Write]:
    writes = []
    for written, value in attributes.items():
        definition = flow_type.schema.attribute_of_key(written)
        key = flow_type.schema.attribute_key(written)
        data = None if value is None else _encode(value, definition.value_type, f"Attribute {key}")
        writes.append(write_of(flow_type.schema, key, data))
    return writes


def _encode_input(value: Any, declared: Any, whose: str) -> bytes:
    try:
        return _stored_form(value, declared)
    except ValueMappingError as error:
        raise codec.wrong_input(error, value, declared, whose) from error


def _encode(value: Any, declared: Any, what: str) -> bytes:
    try:
        return _stored_form(value, declared)
    except ValueMappingError as error:
        raise error.within(what) from error


def _stored_form(value: Any, declared: Any) -> bytes:
    """Give the stored form of a JSON value, or of one that the SDK has encoded."""
    if isinstance(value, Encoded):
        codec.decode(value.data, declared)
        return value.data
    return codec.encode(from_edge(value, declared), declared)


def _retry(settings: RetrySettings | None) -> RetryPolicy | None:
    if settings is None:
        return None
    from datetime import timedelta

    return RetryPolicy(
        timedelta(milliseconds=settings.initial_interval_ms),
        settings.backoff_coefficient,
        timedelta(milliseconds=settings.maximum_interval_ms),
        settings.maximum_attempts,
        timedelta(milliseconds=settings.total_duration_ms),
    )


def _event(parts: Parts, connection: Any, run: Run, target: Any) -> int:
    """Give the event after which a time travel goes on.

    Raises:
        NotFound: the run has no such event or step.
    """
    remedy = "see `dex flow history`"
    match target:
        case Beginning():
            return 1
        case Event(number):
            found = number if 1 <= number <= history.last_number(connection, run.id) else None
        case Time(at_ms):
            found = history.last_before(connection, run.id, at_ms)
        case StepType(type=type_):
            found = steps.created_event(connection, run.id, type_, None)
            known = parts.registry.types.get(run.type)
            remedy = (did_you_mean(type_, known.steps) if known else "") or remedy
        case StepExecution(id=id_):
            execution = steps.split_id(id_)
            found = steps.created_event(connection, run.id, *execution) if execution else None
        case _:
            raise Refused(f"{target!r} is no place to travel to", "see `dex flow time-travel --help`")
    if found is None:
        raise NotFound(
            f"run {run.run_id} of Flow {run.flow_id!r} has no {_place(target)}",
            remedy,
            flow_id=run.flow_id,
            run_id=run.run_id,
        )
    return found


def _place(target: Any) -> str:
    """Give a place to travel to as people write it: `event:3`, `step:Ship`."""
    if isinstance(target, Time) and 0 <= target.at_ms <= LATEST_MS:
        return f"event up to {iso(target.at_ms)}"
    kind, *values = msgspec.to_builtins(target).values()
    return ":".join([kind.replace("step_type", "step").replace("_", "-"), *map(str, values)])
