"""What is written at once, and what came of it: the terms between the scheduler and a destination."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class Batch(NamedTuple):
    """Pending entries of one run for one store (spec: Y-13).

    `entries` maps keys, as `dex.engine.flows.keys` writes them, to stored values, None for what was deleted.
    """

    store: str
    flow_id: str
    run_id: str
    entries: Mapping[str, bytes | None]


class Fence(NamedTuple):
    """What a write proves its right by: the owner's epoch, for one scope of one cluster (spec: Y-16)."""

    cluster: str
    scope: str
    epoch: int


class FailureScope(StrEnum):
    """What backs off after a failure (spec: Y-18)."""

    STORE = "store"
    RUN = "run"
    TIMEOUT = "timeout"


class Failure(NamedTuple):
    """Why a transaction failed. `reason` has no value and no DSN; without `retryable` its entries are dropped.

    `undecided` is a transaction whose end is not known: the server may still carry it out, at any time.
    """

    scope: FailureScope
    retryable: bool
    reason: str
    sqlstate: str | None = None
    undecided: bool = False


class Outcome(StrEnum):
    """How a write ended."""

    WRITTEN = "written"
    FENCED = "fenced"
    FAILED = "failed"
    NOT_STARTED = "not_started"


class WriteResult(NamedTuple):
    """What came of one transaction.

    `keys` are the entries it was about: written or filtered, they are acknowledged when it is WRITTEN; the rest of
    the batch is for other transactions. `statements` is how many it had: all plain Attributes are one, each
    instance is one. `token` is the one in the fencing row that rejected a FENCED write.
    """

    outcome: Outcome
    keys: tuple[str, ...]
    statements: int
    failure: Failure | None = None
    token: int = 0
