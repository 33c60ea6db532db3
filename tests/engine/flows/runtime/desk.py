"""A Flow whose handlers a test gives: `Desk(steps…)`, with `flow.does["name"] = handler` for its RPCs."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from dex import (
    Attribute,
    AttributeMap,
    Channel,
    ChannelMap,
    Context,
    Flow,
    PersistenceSchema,
    RPCResult,
    Step,
    StepList,
    StepOptions,
    rpc,
)

PATIENCE = 20.0


@dataclass
class Item:
    name: str
    cents: int = 0


N = Attribute("N", int)
OTHER = Attribute("Other", Any)
SECRET = Attribute("Secret", str, hard_delete_on_null=True)
ITEMS = AttributeMap("Items", Item)
NOTES = AttributeMap("Notes", str, hard_delete_on_null=True)
IN = Channel("In", int)
OUT = Channel("Out", Any)
BOXES = ChannelMap("Boxes", str)


class Do(Step[Any]):
    """A Step that executes a given handler."""

    def __init__(self, name: str, execute: Callable[[Context, Any], Any], options: StepOptions | None = None) -> None:
        self.name = name
        self.handler = execute
        self.options = options or StepOptions()

    def get_step_type(self) -> str:
        return self.name

    def get_step_options(self) -> StepOptions:
        return self.options

    def execute(self, context: Context, input: Any) -> Any:
        return self.handler(context, input)


class Await(Do):
    """A Step that waits first: for what a given handler says, or for a given Wait."""

    def __init__(self, name: str, wait: Any, execute: Callable[[Context, Any], Any], options: Any = None) -> None:
        super().__init__(name, execute, options)
        self.wait = wait

    def wait_for(self, context: Context, input: Any) -> Any:
        return self.wait(context, input) if callable(self.wait) else self.wait


class Desk(Flow[Any]):
    """It starts with the first of its Steps; without Steps it has RPCs only."""

    def __init__(self, *steps: Step[Any], name: str = "Desk", starts: bool = True) -> None:
        self.name = name
        self.steps = steps
        self.starts = starts
        self.does: dict[str, Callable[[Context], Any]] = {}
        self.on_timeout: Callable[[Context], Any] | None = None

    def get_flow_type(self) -> str:
        return self.name

    def get_steps(self) -> StepList:
        return StepList(self.steps, self.steps[0] if self.steps and self.starts else None)

    def get_persistence_schema(self) -> PersistenceSchema:
        return PersistenceSchema.of(N, OTHER, SECRET, ITEMS, NOTES, IN, OUT, BOXES)

    def handle_timeout(self, context: Context) -> Any:
        assert self.on_timeout is not None
        return self.on_timeout(context)

    def _answer(self, context: Context, name: str) -> Any:
        result = self.does[name](context)
        return result if isinstance(result, RPCResult) or name.startswith("raw") else RPCResult(result)

    @rpc
    def call(self, context: Context, name: str) -> RPCResult[Any]:
        return self._answer(context, name)

    @rpc(is_transactional=True)
    def transact(self, context: Context, name: str) -> RPCResult[Any]:
        return self._answer(context, name)

    @rpc(lock_attributes=[N])
    def lock_n(self, context: Context, name: str) -> RPCResult[Any]:
        return self._answer(context, name)

    @rpc(lock_attributes=[OTHER])
    def lock_other(self, context: Context, name: str) -> RPCResult[Any]:
        return self._answer(context, name)

    @rpc(lock_attributes=[N, OTHER])
    def lock_both(self, context: Context, name: str) -> RPCResult[Any]:
        return self._answer(context, name)

    @rpc(timeout=timedelta(milliseconds=50), lock_attributes=[N])
    def hurry(self, context: Context, name: str) -> RPCResult[Any]:
        return self._answer(context, name)

    @rpc(load_attribute_map_instances=[ITEMS.load("a")])
    def with_a(self, context: Context, name: str) -> RPCResult[Any]:
        return self._answer(context, name)

    @rpc(load_attribute_maps=[ITEMS])
    def with_items(self, context: Context, name: str) -> RPCResult[Any]:
        return self._answer(context, name)

    @rpc(load_channels=[IN, BOXES])
    def with_channels(self, context: Context, name: str) -> RPCResult[Any]:
        return self._answer(context, name)

    @rpc(read_only=True)
    def look(self, context: Context, name: str) -> RPCResult[Any]:
        return self._answer(context, name)

    @rpc
    async def later(self, context: Context, name: str) -> RPCResult[Any]:
        return self._answer(context, name)

    @rpc
    def count(self, context: Context) -> RPCResult[int]:
        return RPCResult(get(context, N, 0))

    @rpc(lock_attributes=[N])
    def add_one(self, context: Context) -> RPCResult[int]:
        N.set(context, get(context, N, 0) + 1)
        return RPCResult(N.get(context))


def get(context: Context, attribute: Attribute[Any], default: Any) -> Any:
    try:
        return attribute.get(context)
    except KeyError:
        return default


class Gate:
    """A handler that says when it is inside, and goes on when it is let."""

    def __init__(self, answer: Callable[[Context], Any] = lambda context: None) -> None:
        self.inside = threading.Event()
        self.open = threading.Event()
        self._answer = answer

    def __call__(self, context: Context, *_: Any) -> Any:
        self.inside.set()
        assert self.open.wait(PATIENCE)
        return self._answer(context)


class Aside(threading.Thread):
    """A call in a thread of its own; `result` waits for it and gives what it gave, or raises what it raised."""

    def __init__(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> None:
        super().__init__(daemon=True)
        self._call = lambda: function(*arguments, **named)
        self._outcome: Any = None
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._outcome = self._call()
        except BaseException as error:  # noqa: BLE001  # raised where the result is asked for
            self._error = error

    def result(self) -> Any:
        self.join(PATIENCE)
        assert not self.is_alive()
        if self._error is not None:
            raise self._error
        return self._outcome


@contextmanager
def inside(client: Any, bound: Any, flow_id: str, answer: Callable[[Context], Any] = lambda c: None) -> Iterator[Aside]:
    """Have an RPC under way inside the block, which ends after it with `answer`; gives the call."""
    gate = Gate(answer)
    name = f"gate-{id(gate)}"
    bound.flow.does[name] = gate
    call = Aside(client.invoke_rpc, bound, flow_id, name)
    assert gate.inside.wait(PATIENCE)
    try:
        yield call
    finally:
        gate.open.set()
        call.join(PATIENCE)
