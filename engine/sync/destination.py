"""One Attribute Store as the scheduler sees it: opened, checked, written to one transaction at a time."""

import math
import random
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import psycopg

from dex.engine.sync.batch import Batch, Failure, FailureScope, Fence, Outcome, WriteResult
from dex.engine.sync.checking import StoreSchema, check, table_names
from dex.engine.sync.config import StoreConfig, SyncConfig
from dex.engine.sync.connections import BoundedConnection, Connections
from dex.engine.sync.failures import judge, outdated_schema
from dex.engine.sync.grants import lacking_grants
from dex.engine.sync.planning import Plan, Row, plan
from dex.engine.sync.refresh import Schemas
from dex.engine.sync.reports import Reports
from dex.engine.sync.statements import fence_sql, fenced_sql, group, token_sql, unfenced_sql
from dex.engine.sync.table import read_tables
from dex.wcl.errors import DexError, FailedPrecondition, Unavailable

R = TypeVar("R")


def _always() -> bool:
    return True


class Destination:
    """A PostgreSQL destination. Any number of threads may write to it at the same time.

    `monotonic` and `uniform` are only for when the tables are read again.
    """

    def __init__(
        self,
        store: StoreConfig,
        config: SyncConfig,
        monotonic: Callable[[], float] = time.monotonic,
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self.store = store
        self._seconds = config.transaction_timeout
        self._connections = Connections(store.dsn, self._seconds)
        self._schemas = Schemas(self._read, config.schema_sync_interval, monotonic, uniform)
        self._reports = Reports()

    def open(self) -> StoreSchema:
        """Connect and check the tables (spec: Y-06).

        Raises:
            Unavailable: the server cannot be reached or refuses the connection.
            FailedPrecondition: a table is missing or breaks the contract.
        """
        try:
            self._schemas.refresh()
        except Unavailable as error:
            self.close()
            raise Unavailable(f"store {self.store.name}: {error.message}", error.remedy) from None
        except BaseException:
            self.close()
            raise
        return self._schemas.current()

    def check_grants(self) -> None:
        """Check that the role may write to the tables of the schema; `open` does not (spec: Y-25).

        Raises:
            Unavailable: the server cannot be asked.
            FailedPrecondition: grants are missing; names each table.
        """
        schema = self._schemas.current()
        faults = [f"store {self.store.name}: {fault}" for fault in self._ask(partial(lacking_grants, schema=schema))]
        if faults:
            raise FailedPrecondition("\n".join(faults), "grant it as the owner of the tables", faults=faults)

    def close(self) -> None:
        """Close all connections."""
        self._connections.close()

    def refresh_if_due(self) -> None:
        """Read the tables again when the interval is over; a failure is logged and the schema stays (spec: Y-23)."""
        try:
            self._schemas.refresh_if_due()
        except DexError as error:
            self._reports.refresh_failed(self.store.name, error.message)

    def write(
        self, batch: Batch, fence: Fence, limit: int | None = None, may_start: Callable[[], bool] = _always
    ) -> WriteResult:
        """Write entries of a batch in one transaction of at most `limit` statements, raising the fencing row first.

        `may_start` is asked once there is a connection and before anything is sent, as connecting may take so long
        that the lease does not last for the write any more (spec: Y-17).
        """
        self.refresh_if_due()
        result = self._attempt(batch, fence, limit, may_start)
        if isinstance(result, WriteResult):
            return result
        # The tables have changed since they were read: read them, plan again, and try once more (spec: Y-27).
        again = self._attempt(batch, fence, limit, may_start, refresh=True)
        return again if isinstance(again, WriteResult) else again.result

    def _attempt(
        self,
        batch: Batch,
        fence: Fence,
        limit: int | None,
        may_start: Callable[[], bool],
        *,
        refresh: bool = False,
    ) -> "WriteResult | _Outdated":
        rows: Sequence[Row] = ()
        keys = tuple(batch.entries)
        connection: BoundedConnection | None = None
        try:
            planned = self._plan(batch, refresh=refresh)
            rows = planned.rows[:limit]
            keys = (*planned.filtered, *(key for row in rows for key in row.entries))
            if not rows:
                return self._written(batch, planned, keys, 0)
            with self._connections.lend() as connection:
                if not may_start():
                    return WriteResult(Outcome.NOT_STARTED, (), 0)
                if not self._transaction(connection, planned.schema, rows, fence):
                    token = self._token(connection, planned.schema, fence)
                    return WriteResult(Outcome.FENCED, keys, len(rows), token=token)
            return self._written(batch, planned, keys, len(rows))
        except psycopg.Error as error:
            failure = judge(error, connected=connection is None or not connection.lost)
            failed = WriteResult(Outcome.FAILED, keys, len(rows), failure)
            return _Outdated(failed) if outdated_schema(error) else failed
        except DexError as error:
            # Where tables no longer keep the contract, batches that need nothing new go on with the schema there is.
            scope = FailureScope.STORE if isinstance(error, Unavailable) else FailureScope.RUN
            failure = Failure(scope, retryable=True, reason=error.message)
            return WriteResult(Outcome.FAILED, keys, len(rows), failure)

    def _plan(self, batch: Batch, *, refresh: bool) -> Plan:
        if refresh:
            self._schemas.refresh()
        schema = self._schemas.current()
        planned = plan(self.store, batch, schema)
        if planned.missing and self._schemas.wants_refresh(planned.missing):
            planned = plan(self.store, batch, self._schemas.refresh_for(planned.missing, schema))
        return planned

    def _written(self, batch: Batch, planned: Plan, keys: tuple[str, ...], statements: int) -> WriteResult:
        # Told only now, as a field that is left out of a write that fails is looked at again.
        self._reports.left_out(batch, [each for each in planned.remarks if not each.key or each.key in keys])
        return WriteResult(Outcome.WRITTEN, keys, statements)

    def _transaction(
        self, connection: BoundedConnection, schema: StoreSchema, rows: Sequence[Row], fence: Fence
    ) -> bool:
        """Write rows under the fencing row; tell whether it could be raised."""
        start = time.monotonic()
        # A COMMIT that is sent just before the end of the transaction's time may take as long again.
        connection.deadline = start + 2 * self._seconds
        groups = group(rows)
        fencing = schema.fencing.name
        right = (self.store.name, fence.cluster, fence.scope, fence.epoch)
        parameters = tuple(each.parameter() for each in groups)
        if not any(row.delete for row in rows):
            (raised,) = connection.execute(fenced_sql(fencing, groups), (*right, *parameters)).fetchone() or (0,)
            return bool(raised)
        # A DELETE sees only what was there when its statement began, so that it must begin under the fencing row:
        # an earlier owner's insert, committed while it waited for that row, would outlive it otherwise.
        with connection.pipeline(), connection.transaction():
            if connection.execute(fence_sql(fencing), right).fetchone() is None:
                return False
            left = self._seconds - (time.monotonic() - start)
            if left <= 0:
                raise psycopg.errors.QueryCanceled("the fencing row took all the time of the transaction")
            connection.execute(_STATEMENT_TIMEOUT, (str(math.ceil(left * 1000)),))
            connection.execute(unfenced_sql(groups), parameters)
        return True

    def _token(self, connection: BoundedConnection, schema: StoreSchema, fence: Fence) -> int:
        """Give the token that rejects a fence, 0 where its row is gone again."""
        query = token_sql(schema.fencing.name)
        (token,) = connection.execute(query, (self.store.name, fence.cluster)).fetchone() or (None,)
        return token or 0

    def _read(self) -> StoreSchema:
        return check(self.store, self._ask(partial(read_tables, names=table_names(self.store))))

    def _ask(self, query: Callable[[BoundedConnection], R]) -> R:
        try:
            with self._connections.lend() as connection:
                connection.deadline = time.monotonic() + self._seconds
                return query(connection)
        except psycopg.Error as error:
            reason = judge(error, connected=not connection.lost).reason
            raise Unavailable(f"cannot read the tables of {self.store.dsn.target}: {reason}", "try again") from None


class _Outdated(NamedTuple):
    """A failure that reading the tables again may cure."""

    result: WriteResult


_STATEMENT_TIMEOUT = "SELECT pg_catalog.set_config('statement_timeout', $1, true)"
