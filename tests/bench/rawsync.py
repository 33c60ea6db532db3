"""The reference for sync: what one would write by hand with psycopg, a fenced transaction for each order.

Everything of a transaction is sent at once, statements are prepared, and there is nothing to read, to plan, to
acknowledge or to try again.
"""

import psycopg

from tests.bench.orders import FENCING_TABLE, Order

_FENCE = (
    f"INSERT INTO {FENCING_TABLE} AS f (store_name, cluster_id, scope, fencing_token, updated_at)"
    " VALUES ('orders', 'reference', '0', 1, clock_timestamp()) ON CONFLICT (store_name, cluster_id, scope) DO UPDATE"
    " SET fencing_token = EXCLUDED.fencing_token, updated_at = EXCLUDED.updated_at"
    " WHERE f.fencing_token <= EXCLUDED.fencing_token RETURNING 1"
)
_ORDER = (
    'INSERT INTO orders (id, "Status", "Total", "Note") VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO UPDATE'
    ' SET "Status" = EXCLUDED."Status", "Total" = EXCLUDED."Total", "Note" = EXCLUDED."Note"'
)
_ITEM = (
    "INSERT INTO items (id, item, quantity, label) VALUES ($1, $2, $3, $4) ON CONFLICT (id, item) DO UPDATE"
    " SET quantity = EXCLUDED.quantity, label = EXCLUDED.label"
)


class RawSync:
    """One connection."""

    def __init__(self, dsn: str) -> None:
        self._connection = psycopg.connect(dsn, autocommit=True, cursor_factory=psycopg.RawCursor, prepare_threshold=0)

    def write(self, ids: list[str], new: Order) -> None:
        """Write orders, a transaction each."""
        connection = self._connection
        for id_ in ids:
            with connection.pipeline(), connection.transaction():
                connection.execute(_FENCE)
                connection.execute(_ORDER, (id_, new.status, new.total, new.note))
                for name, item in new.items.items():
                    connection.execute(_ITEM, (id_, name, item.quantity, item.label))

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
