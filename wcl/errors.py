"""Every error that dex raises, told in one place.

DexError
├── Refused (400)                  the request cannot be carried out as asked
│   ├── InputError                 text that is not WCL, JSON or a value; exit code 2
│   │   └── WclSyntaxError         with line, column and caret
│   ├── AttributeMapNotLoadedError a handler reads a map instance that its call has not loaded
│   └── InvalidCommand             a declaration or value outside its limits; also a ValueError
│       ├── FlowDefinitionError    a Flow contradicts itself, or uses what it does not declare
│       └── ValueMappingError      a value is not of the declared type
├── Unauthorized (401)             no token, or one that the server does not know
├── Forbidden (403)                the token's scope does not allow it
├── NotFound (404)
│   ├── FlowNotFoundError          no run has this Flow ID
│   ├── FlowNotActiveOrNotFoundError  no run of this Flow ID is open
│   └── ChannelMessageNotFoundError   no pending message has this id
├── Conflict (409)                 `reason`: unique, mutation_id, index_behind, source, lock, flow
│   ├── FlowAlreadyStartedError    the Flow ID is taken, and the reuse policy does not allow another run
│   └── RPCLockConflict            a lock is held; nothing ran, try again (also RpcLockConflictError)
├── FailedPrecondition (412)
│   └── FlowClosingError           the Flow is closing and takes no such call
├── Unavailable (503)              try again later
│   ├── LongPollTimeoutError       what was waited for has not happened yet
│   └── RequestTimeoutError        no answer within the time allowed
└── WorkerInvocationError (400)    a handler failed, and not the engine; nothing of its call was kept
    ├── InvalidStepResultError     a handler returned what it may not return
    └── RetryAfterError            a handler asks to be tried again after a delay

An error carries its facts as attributes and its message ends in what to do next (spec: S-17).
Errors of libraries (sqlite3, lark, msgspec) are translated once, where the library is called.
"""

import re
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from datetime import timedelta

_MAX_TEXT = 4000
_LONG_WORD = re.compile(r"(\S{80})\S{201,}(\S{20})")


def shorten(text: str) -> str:
    """Cut what a message repeats of its input: a word over 300 characters, and a text over 4000."""
    if len(text) <= 300:
        return text
    text = _LONG_WORD.sub(r"\1…\2", text)
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT // 2]} … {text[-_MAX_TEXT // 2 :]}"


class DexError(Exception):
    """Base of all errors.

    `message` says what failed, `remedy` what to do next, both with what is very long cut; `facts` are the names and
    numbers involved, whole, and each is also an attribute. `str(error)` is the message and the remedy on one line.
    """

    kind: ClassVar[str] = "error"
    status: ClassVar[int] = 500

    def __init__(self, message: str, remedy: str = "", **facts: Any) -> None:
        self.message = shorten(message)
        self.remedy = shorten(remedy)
        self.facts = facts
        super().__init__(f"{self.message}; {self.remedy}" if remedy else self.message)

    def __getattr__(self, name: str) -> Any:
        """Give a fact by its name."""
        facts = self.__dict__.get("facts", {})
        if name in facts:
            return facts[name]
        raise AttributeError(f"{type(self).__name__} has no fact {name!r}")

    def as_dict(self) -> dict[str, Any]:
        """Give the JSON form: kind, message, remedy and the facts (spec: X-03)."""
        return {"kind": self.kind, "message": self.message, "remedy": self.remedy, **self.facts}


class Refused(DexError):
    """The request is wrong for the state it meets, such as an undeclared key or a missing store."""

    kind = "refused"
    status = 400


class InputError(Refused):
    """Text from a person or a file is not what it should be: not JSON, not a duration, not a command."""

    kind = "syntax"


class WclSyntaxError(InputError):
    """Text is not WCL (spec: W-06).

    Facts: `line` and `column` (from 1), `source_line`, `expected` (plain words), and `suggestion` or None.
    """


class InvalidCommand(Refused, ValueError):
    """A declaration, name, key or value breaks its contract; raised before any call (spec: W-07, S-02)."""


class Unauthorized(DexError):
    """No token came with the request, or one that the server does not know (spec: K-02)."""

    kind = "unauthorized"
    status = 401


class Forbidden(DexError):
    """The token does not allow what is asked for (spec: K-02). Fact: `scope`, the one that it takes."""

    kind = "forbidden"
    status = 403


class NotFound(DexError):
    """What was asked for is not there."""

    kind = "not_found"
    status = 404


class Conflict(DexError):
    """The request lost against another one; the fact `reason` says how (spec: S-06, S-07, S-11)."""

    kind = "conflict"
    status = 409


class FailedPrecondition(DexError):
    """The target is in a state in which this request is not allowed."""

    kind = "failed_precondition"
    status = 412


class Unavailable(DexError):
    """The engine cannot answer now, such as a full disk, a busy file or an unreachable server."""

    kind = "unavailable"
    status = 503


class FlowDefinitionError(InvalidCommand):
    """A Flow contradicts itself, does not import, or uses a name that it does not declare (spec: FL-03, FL-17).

    Facts, where they apply: `flow_type`, `name`, `file` and `line`.
    """


class ValueMappingError(InvalidCommand):
    """A value is not of its declared type (spec: FL-03).

    Facts: `path` of the field from `$`, the whole value, and `expected`, the type in plain words.
    """

    def within(self, what: str) -> "ValueMappingError":
        """Give the same error with the message saying where the value belongs, such as "Attribute Total"."""
        return ValueMappingError(f"{what}: {self.message}", self.remedy, **self.facts)


class AttributeMapNotLoadedError(Refused):
    """A handler reads an AttributeMap instance that neither its declaration nor its call loads (spec: FL-05).

    Facts: `attribute_map` and `instance`, or None when the map as a whole was asked for.
    """

    kind = "attribute_map_not_loaded"


AttributeMapNotLoaded = AttributeMapNotLoadedError


class FlowNotFoundError(NotFound):
    """No run has this Flow ID. Fact: `flow_id`."""


class FlowNotActiveOrNotFoundError(NotFound):
    """No run of this Flow ID is open, or the run asked for is not the open one. Facts: `flow_id`, `run_id`."""


class ChannelMessageNotFoundError(NotFound):
    """No pending message of the Channel has this id (spec: FL-09). Facts: `channel` and `message_id`."""


class FlowAlreadyStartedError(Conflict):
    """The Flow ID is taken and the reuse policy allows no other run (spec: FL-02). Facts: `flow_id`, `run_id`."""

    def __init__(self, message: str, remedy: str = "", **facts: Any) -> None:
        super().__init__(message, remedy, **{"reason": "flow", **facts})


class RPCLockConflict(Conflict):
    """Another call holds a lock that this one needs; its handler did not run (spec: FL-07).

    Facts: `reason`, always "lock", and `locks`, the keys that are held. The same call may be tried again.
    """

    def __init__(self, message: str, remedy: str = "", **facts: Any) -> None:
        super().__init__(message, remedy, **{"reason": "lock", **facts})


RpcLockConflictError = RPCLockConflict


class FlowClosingError(FailedPrecondition):
    """The Flow waits to close and takes no such call (spec: FL-15). Facts: `flow_id` and `run_id`."""


class LongPollTimeoutError(Unavailable):
    """What a long poll waits for has not happened yet (spec: FL-10). Fact: `waited_seconds`."""


class RequestTimeoutError(Unavailable):
    """No answer came within the time allowed, so the call may or may not have been carried out."""


class WorkerInvocationError(DexError):
    """The handler of an RPC or Step failed or ran past its timeout; nothing of its call was kept (spec: FL-06).

    Facts, where they apply: `handler`, `error_type`, `file` and `line`.
    """

    kind = "failed"
    status = 400


class InvalidStepResultError(WorkerInvocationError):
    """A handler returned what it may not return, such as no StepDecision. Facts: `handler` and `returned`."""


class RetryAfterError(WorkerInvocationError):
    """Raised by a Step's handler to be tried again after `delay`, whatever its RetryPolicy says (spec: FL-08)."""

    def __init__(self, delay: "timedelta", message: str = "") -> None:
        if not hasattr(delay, "total_seconds"):
            raise InvalidCommand(
                f"RetryAfterError: delay is the {type(delay).__name__} {delay!r}, and timedelta is expected",
                "write RetryAfterError(timedelta(seconds=30))",
            )
        if not isinstance(message, str):
            raise InvalidCommand(
                f"RetryAfterError: message is the {type(message).__name__} {message!r}, and str is expected",
                "write RetryAfterError(timedelta(seconds=30), 'the bank is closed')",
            )
        if delay.total_seconds() < 0:
            raise InvalidCommand(f"a Step cannot be tried again after {delay}", "pass a delay of zero or more")
        super().__init__(message or "the handler asks to be tried again", delay_seconds=delay.total_seconds())
        self.delay = delay
