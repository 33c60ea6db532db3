"""What a path of the HTTP interface is: one declaration gives its handler, its scope and its part of the document."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from dex.engine.server.call import Call, Parameter
from dex.engine.server.dispatch import Dispatcher
from dex.engine.server.headers import Headers
from dex.engine.server.health import Health
from dex.engine.server.metrics import Metrics
from dex.engine.server.statuspage import StatusPage
from dex.wcl.commands import Command
from dex.wcl.scopes import SCOPES, Scope, scope_of

Answer: TypeAlias = Callable[[Call, "Request"], Awaitable[Any]]
Items: TypeAlias = AsyncIterator[list[Any]]


@dataclass(frozen=True)
class Request:
    """Who asks, and what carries it out. `may` refuses what the token's scope does not allow.

    `document` gives the OpenAPI document of all routes, which no route knows by itself.
    """

    dispatcher: Dispatcher
    may: Callable[[Scope], None]
    health: Health
    metrics: Metrics
    page: StatusPage
    document: Callable[[], bytes]


@dataclass(frozen=True, kw_only=True)
class Route:
    """One path and method.

    `answer` gives the result as a value that `dex.wcl.wire.to_json` takes, or raises a DexError. With `stream` it
    gives an asynchronous iterator of lists, whose items are sent one a line; bytes are sent as they are. `scope` is
    None where the body decides, and `answer` asks then; a `public` route asks for no token at all. `parts` are the
    parameters of the path; `errors` are the statuses that are this route's own, and `headers` those of its answer.
    """

    method: Literal["GET", "POST", "PUT"]
    path: str
    summary: str
    tag: str
    answer: Answer
    result: Any
    scope: Scope | None = "read"
    public: bool = False
    parts: tuple[Parameter, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    body: Any = None
    body_example: Any = None
    result_example: Any = None
    stream: bool = False
    media_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    errors: tuple[int, ...] = ()
    declared: dict[str, Parameter] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "declared", {parameter.name: parameter for parameter in self.parameters})

    def response_headers(self, length: int) -> Headers:
        """Give the headers of an answer of so many bytes."""
        kind = f"{self.media_type}; charset=utf-8" if self.media_type.startswith("text/") else self.media_type
        given = [(name.encode(), value.encode()) for name, value in self.headers.items()]
        return [(b"content-type", kind.encode()), (b"content-length", str(length).encode()), *given]


def reads(build: Callable[[Call], Command[Any]]) -> Answer:
    """Give the answer that is the result of one command."""

    async def answer(call: Call, request: Request) -> Any:
        return await request.dispatcher.execute(build(call))

    return answer


def named(call: Call, *names: str) -> dict[str, Any]:
    """Give parts of the path as text, and the parameters that the request has, by name."""
    return {name: call.text(name) for name in names} | call.given()


def scope_of_all(commands: list[Command[Any]]) -> Scope:
    """Give the scope that several commands need together."""
    return max((scope_of(command) for command in commands), key=SCOPES.index, default="read")
