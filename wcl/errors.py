"""Every error that dex raises, told in one place.

DexError
├── Refused (400)                  the request cannot be carried out as asked
│   ├── InputError                 text that is not WCL, JSON or a value; exit code 2
│   │   └── WclSyntaxError         with line, column and caret
│   └── InvalidCommand             a declaration or value outside its limits; also a ValueError
├── NotFound (404)
├── Conflict (409)                 `reason`: unique, mutation_id, index_behind, source
├── FailedPrecondition (412)
└── Unavailable (503)              try again later

An error carries its facts as attributes and its message ends in what to do next (spec: S-17).
Errors of libraries (sqlite3, lark, msgspec) are translated once, where the library is called.
"""

from typing import Any, ClassVar


class DexError(Exception):
    """Base of all errors.

    `message` says what failed, `remedy` what to do next, `facts` the names and numbers involved;
    each fact is also an attribute. `str(error)` is the message and the remedy on one line.
    """

    kind: ClassVar[str] = "error"
    status: ClassVar[int] = 500

    def __init__(self, message: str, remedy: str = "", **facts: Any) -> None:
        self.message = message
        self.remedy = remedy
        self.facts = facts
        super().__init__(f"{message}; {remedy}" if remedy else message)

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
