"""Smoke checks: each runs a piece of the target end to end on objects of its own, which are dropped at the end.

Names are temporary ones and new for every run, so that runs do not meet and dropping them leaves no tombstones.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from dex.cli.deadline import Expired, deadline
from dex.cli.smokeflows import FLOW_CHECKS, clean_flows
from dex.cli.smoketarget import Mismatch, Target, expect
from dex.wcl.commands import (
    AppendRecords,
    ClearStateStore,
    DefineFeed,
    DefineStateStore,
    DeleteRow,
    DescribeStateStore,
    DropFeed,
    DropStateStore,
    FeedRecord,
    FromFeed,
    GetBy,
    GetRow,
    Json,
    Metadata,
    NamedKey,
    PageRecords,
    PageRows,
    PutRow,
    RebuildStateStore,
    ShowStateStores,
)
from dex.wcl.errors import Conflict, DexError, Forbidden
from dex.wcl.format import format_command
from dex.wcl.names import TEMPORARY
from dex.wcl.parser import parse

if TYPE_CHECKING:
    from dex.engine.protocol import Engine


_CLEANING_SECONDS = 2.0


class Result(NamedTuple):
    """What a check gave."""

    check: str
    status: str
    seconds: float
    detail: str

    def as_dict(self) -> dict[str, Any]:
        """Give the JSON form."""
        return self._asdict()


Check = Callable[[Target], str]
"""Gives a few words on what was found, or raises."""


def run_checks(engine: "Engine", run: str, more: Sequence[tuple[str, Check]] = ()) -> Iterator[Result]:
    """Run every check in order, then `more`; `run` makes the names of this run its own, which are dropped at the end.

    A check after a failed one is run all the same, but none after one that is forbidden: nothing was made by then,
    and all that follow need as much. When the time is up a little more is taken for dropping what was made.

    Raises:
        Expired: naming the check that was under way.
    """
    base = TEMPORARY + run
    target = Target(engine, f"{base}.rows", f"{base}.events", f"{base}.projection", f"{base}.flow")
    try:
        for name, check in (*CHECKS, *more):
            result, error = _attempt(name, check, target)
            yield result
            if isinstance(error, Forbidden):
                return
    except Expired:
        with suppress(Expired, DexError, Mismatch), deadline(_CLEANING_SECONDS):
            _cleanup(target)
        raise
    except BaseException:
        _attempt("cleanup", _cleanup, target)
        raise
    yield _attempt("cleanup", _cleanup, target)[0]


def _attempt(name: str, check: Check, target: Target) -> tuple[Result, Exception | None]:
    """Run a check, and give what it gave and what it failed by."""
    start = time.perf_counter()
    failure: Exception | None = None
    try:
        status, detail = "ok", check(target)
    except (DexError, Mismatch) as error:
        status, detail, failure = "failed", str(error), error
    except Expired as error:
        error.during = f"check {name}"
        raise
    return Result(name, status, round(time.perf_counter() - start, 6), detail), failure


def _engine(target: Target) -> str:
    found = len(target.engine.execute(ShowStateStores()))
    return f"{found} store{'' if found == 1 else 's'}"


def _wcl(target: Target) -> str:
    """Define the store by WCL, and read the definition back."""
    command = DefineStateStore(name=target.store, named_keys=[NamedKey("badge", unique=True), NamedKey("team")])
    text = format_command(command)
    (parsed,) = parse(text)
    expect(parsed.command, command, "WCL read back")
    target.engine.execute(parsed.command)
    description = target.engine.execute(DescribeStateStore(name=target.store))
    expect([key.name for key in description.keys], ["badge", "team"], "declared keys")
    return "defined and described"


def _rows(target: Target) -> str:
    store, engine = target.store, target.engine
    payload = bytes(range(256))
    engine.execute(PutRow(store=store, key=b"a", payload=payload, named={"badge": 1, "team": "red"}))
    engine.execute(PutRow(store=store, key=b"b", payload=b"", named={"badge": "1", "team": "red"}))
    row = engine.execute(GetRow(store=store, key=b"a", strict=True))
    expect(row and row.payload, payload, "payload")
    found = engine.execute(GetBy(store=store, named_key="team", value="red", strict=True))
    expect([row.key for row in found.rows], [b"a", b"b"], "rows by team")
    deleted = engine.execute(DeleteRow(store=store, key=b"b"))
    row = engine.execute(GetRow(store=store, key=b"b", strict=True))
    expect((deleted.existed, row), (True, None), "deleted row")
    return "put, get, get-by and delete"


def _unique(target: Target) -> str:
    claim = PutRow(store=target.store, key=b"thief", named={"badge": 1})
    try:
        target.engine.execute(claim)
    except Conflict:
        return "a second claim is refused"
    raise Mismatch("a unique value was given to two rows")


def _replay(target: Target) -> str:
    put = PutRow(store=target.store, key=b"once", payload=b"1", mutation_id=f"{target.store}-1")
    first, again = target.engine.execute(put), target.engine.execute(put)
    expect((again.replayed, again.seq), (True, first.seq), "repeated write")
    return "a repeated mutation id is applied once"


def _pages(target: Target) -> str:
    store, engine = target.store, target.engine
    engine.execute_many([PutRow(store=store, key=f"p{number}".encode()) for number in range(5)])
    keys: list[bytes] = []
    after: bytes | None = None
    while True:
        page = engine.execute(PageRows(store=store, limit=2, after=after))
        keys += [row.key for row in page.rows]
        after = page.next_key
        if after is None:
            break
    expect(keys, [b"a", b"once", b"p0", b"p1", b"p2", b"p3", b"p4"], "keys in order")
    engine.execute(ClearStateStore(name=store))
    expect(engine.execute(PageRows(store=store)).rows, [], "rows after clear")
    return "paged in key order, then cleared"


def _feed(target: Target) -> str:
    engine, feed = target.engine, target.feed
    engine.execute(DefineFeed(name=feed))
    records = [
        FeedRecord(key=b"u1", payload=b'{"team": "red"}', metadata={"badge": "7"}),
        FeedRecord(key=b"u2", payload=b"not JSON"),
    ]
    engine.execute(AppendRecords(feed=feed, records=records))
    page = engine.execute(PageRecords(feed=feed))
    expect([record.key for record in page.records], [b"u1", b"u2"], "records")
    return "appended and paged"


def _projection(target: Target) -> str:
    engine, store = target.engine, target.projection
    keys = [NamedKey("badge", unique=True, extractor=Metadata("badge")), NamedKey("team", extractor=Json("team"))]
    engine.execute(DefineStateStore(name=store, source=FromFeed(target.feed), named_keys=keys))
    for step in ("built", "rebuilt"):
        found = engine.execute(GetBy(store=store, named_key="team", value="red", strict=True))
        expect([row.key for row in found.rows], [b"u1"], f"rows by team, {step}")
        engine.execute(RebuildStateStore(name=store))
        engine.settle()
    return "a store over a feed, built and rebuilt"


def _cleanup(target: Target) -> str:
    engine = target.engine
    for store in (target.projection, target.store):
        engine.execute(DropStateStore(name=store, if_exists=True))
    engine.execute(DropFeed(name=target.feed, if_exists=True))
    clean_flows(target)
    return "dropped what the checks made"


CHECKS: tuple[tuple[str, Check], ...] = (
    ("engine", _engine),
    ("wcl", _wcl),
    ("store.rows", _rows),
    ("store.unique", _unique),
    ("store.replay", _replay),
    ("store.pages", _pages),
    ("feed", _feed),
    ("feed.store", _projection),
    *FLOW_CHECKS,
)
