"""Runs: one row each. The latest run of a Flow ID is the one with the highest id."""

import sqlite3
from collections.abc import Collection
from typing import Any

import msgspec

from dex.engine.flows.records import Close
from dex.engine.flows.retry import RetryPolicy
from dex.wcl.errors import FlowClosingError, FlowNotActiveOrNotFoundError, FlowNotFoundError
from dex.wcl.names import did_you_mean

_COLUMNS = (
    "id, run_id, flow_id, type, status, closing, graceful, attribute_stores, input, output, error, request_id,"
    " previous_run_id, started_at, closed_at, timeout_at, timeout_policy, retry_policy"
)
_SEARCHED_FOR_NEAREST = 500
_decode_stores = msgspec.json.Decoder(list[str]).decode
_decode_retry = msgspec.msgpack.Decoder(RetryPolicy).decode
_decode_close = msgspec.msgpack.Decoder(Close).decode


class Run(msgspec.Struct):
    """A run as it is stored; `input`, `output` are stored values, times are ms since the epoch."""

    id: int
    run_id: str
    flow_id: str
    type: str
    status: str
    closing: Close | None
    graceful: Close | None
    attribute_stores: list[str]
    input: bytes
    output: bytes | None
    error: str | None
    request_id: str | None
    previous_run_id: str | None
    started_at: int
    closed_at: int | None
    timeout_at: int | None
    timeout_policy: str
    retry_policy: RetryPolicy | None

    @property
    def running(self) -> bool:
        """Whether the run is not closed; one whose close waits is still running."""
        return self.status == "running"


def by_run_id(connection: sqlite3.Connection, run_id: str) -> Run | None:
    """Give a run by its run id."""
    return _one(connection, "run_id = ?", (run_id,))


def by_id(connection: sqlite3.Connection, id_: int) -> Run:
    """Give a run that is known to exist in this snapshot."""
    (run,) = select(connection, "id = ?", (id_,))
    return run


def latest(connection: sqlite3.Connection, flow_id: str) -> Run | None:
    """Give the latest run of a Flow ID."""
    return _one(connection, "flow_id = ? ORDER BY id DESC LIMIT 1", (flow_id,))


def is_open(connection: sqlite3.Connection, run: Run) -> bool:
    """Tell whether a run is the latest of its Flow ID, and neither closed nor about to close."""
    query = "SELECT id, status, closing IS NULL FROM runs WHERE flow_id = ? ORDER BY id DESC LIMIT 1"
    return bool(connection.execute(query, (run.flow_id,)).fetchone() == (run.id, "running", 1))


def of_request(connection: sqlite3.Connection, flow_id: str, request_id: str) -> Run | None:
    """Give the run of a Flow ID that a request started, the latest or an earlier one."""
    return _one(connection, "flow_id = ? AND request_id = ? ORDER BY id DESC LIMIT 1", (flow_id, request_id))


def find(connection: sqlite3.Connection, flow_id: str, run_id: str | None) -> Run:
    """Give the latest run of a Flow ID, or the one that is named.

    Raises:
        FlowNotFoundError: there is none.
    """
    run = latest(connection, flow_id) if run_id is None else by_run_id(connection, run_id)
    if run is None or run.flow_id != flow_id:
        what = f"Flow {flow_id!r}" if run_id is None else f"run {run_id!r} of Flow {flow_id!r}"
        remedy = _nearest(connection, flow_id) or "see `dex flow search` for those there are"
        raise FlowNotFoundError(f"there is no {what}", remedy, flow_id=flow_id, run_id=run_id)
    return run


def _nearest(connection: sqlite3.Connection, flow_id: str) -> str:
    """Suggest the nearest Flow ID among the newest runs, nothing where the ID itself is there."""
    rows = connection.execute("SELECT flow_id FROM runs ORDER BY id DESC LIMIT ?", (_SEARCHED_FOR_NEAREST,))
    known = {row[0] for row in rows}
    return "" if flow_id in known else did_you_mean(flow_id, known)


def active(connection: sqlite3.Connection, run_id: str) -> Run:
    """Give a run that is not closed.

    Raises:
        FlowNotActiveOrNotFoundError: it is closed, or there is none.
    """
    run = by_run_id(connection, run_id)
    if run is None or not run.running:
        raise not_active(run_id if run is None else run.flow_id, run)
    return run


def not_active(flow_id: str, run: Run | None) -> FlowNotActiveOrNotFoundError:
    """Give the error for a Flow that has no run, or whose run is closed."""
    state = "is not there" if run is None else f"is {run.status}"
    return FlowNotActiveOrNotFoundError(
        f"Flow {flow_id!r} {state}", "start it, or choose a running one with `dex flow search`", flow_id=flow_id
    )


def closing(run: Run, what: str) -> FlowClosingError:
    """Give the error for what a waiting close does not allow (spec: FL-15)."""
    return FlowClosingError(
        f"Flow {run.flow_id!r} is closing, and {what} is not accepted any more",
        "wait for it to close, then start it again",
        flow_id=run.flow_id,
        run_id=run.run_id,
    )


def insert(connection: sqlite3.Connection, run: Run) -> None:
    """Write a new run."""
    connection.execute(
        f"INSERT INTO runs ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, NULL, NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            run.id,
            run.run_id,
            run.flow_id,
            run.type,
            run.status,
            encode_stores(run.attribute_stores),
            run.input,
            run.output,
            run.error,
            run.request_id,
            run.previous_run_id,
            run.started_at,
            run.closed_at,
            run.timeout_at,
            run.timeout_policy,
            None if run.retry_policy is None else msgspec.msgpack.encode(run.retry_policy),
        ),
    )


def set_closing(connection: sqlite3.Connection, run: Run, close: Close) -> None:
    """Write that the run is to close with this outcome."""
    connection.execute("UPDATE runs SET closing = ? WHERE id = ?", (msgspec.msgpack.encode(close), run.id))


def set_graceful(connection: sqlite3.Connection, run: Run, close: Close) -> None:
    """Write the outcome that the run will have once no step is left."""
    connection.execute("UPDATE runs SET graceful = ? WHERE id = ?", (msgspec.msgpack.encode(close), run.id))


def close(
    connection: sqlite3.Connection, run: Run, status: str, at: int, *, output: bytes | None, error: str | None
) -> None:
    """Write that the run is closed."""
    connection.execute(
        "UPDATE runs SET status = ?, closing = NULL, output = ?, error = ?, closed_at = ? WHERE id = ?",
        (status, output, error, at, run.id),
    )


def clear_timeout(connection: sqlite3.Connection, run: Run) -> None:
    """Write that the run's timeout has been dealt with."""
    connection.execute("UPDATE runs SET timeout_at = NULL WHERE id = ?", (run.id,))


def timed_out(connection: sqlite3.Connection, types: Collection[str], now_ms: int, limit: int) -> list[Run]:
    """Give running runs of these types whose timeout has come, the longest overdue first."""
    if not types:
        return []
    # Without a hint SQLite reads all that are running.
    source = (
        "runs INDEXED BY runs_timeout WHERE timeout_at <= ? AND timeout_at IS NOT NULL AND status = 'running'"
        f" AND closing IS NULL AND type IN ({', '.join('?' * len(types))}) ORDER BY timeout_at LIMIT ?"
    )
    return _select(connection, source, (now_ms, *types, limit))


def set_stores(connection: sqlite3.Connection, run: Run, stores: list[str]) -> None:
    """Write the stores that the run's attributes are synced to."""
    connection.execute("UPDATE runs SET attribute_stores = ? WHERE id = ?", (encode_stores(stores), run.id))


def encode_stores(stores: list[str]) -> str:
    """Give the column form of a list of store names."""
    return msgspec.json.encode(stores).decode()


def _one(connection: sqlite3.Connection, condition: str, parameters: tuple[Any, ...]) -> Run | None:
    row = connection.execute(f"SELECT {_COLUMNS} FROM runs WHERE {condition}", parameters).fetchone()
    return None if row is None else from_row(row)


def from_row(row: tuple[Any, ...]) -> Run:
    """Give a run from its columns."""
    columns = list(row)
    columns[5:7] = (None if close is None else _decode_close(close) for close in row[5:7])
    columns[7] = _decode_stores(row[7])
    columns[-1] = None if row[-1] is None else _decode_retry(row[-1])
    return Run(*columns)


def select(connection: sqlite3.Connection, condition: str, parameters: tuple[Any, ...]) -> list[Run]:
    """Give the runs that meet a condition, which may end in an order and a limit."""
    return _select(connection, f"runs WHERE {condition}", parameters)


def _select(connection: sqlite3.Connection, source: str, parameters: tuple[Any, ...]) -> list[Run]:
    return [from_row(row) for row in connection.execute(f"SELECT {_COLUMNS} FROM {source}", parameters)]
