"""Counters that are synced, and what must hold of their rows whoever owned their partition when.

PostgreSQL itself notes each write that lands, in order, with the fencing token that it landed under.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from dex import FlowConfig, StartFlowOptions
from dex.engine.client import Client
from dex.engine.cluster.placing import partition_of
from dex.engine.lockretry import LockRetry
from dex.wcl.commands.cluster import ClusterStatus
from tests.chaos.counterflow import COUNT, Counter
from tests.clusterprocesses import wait_for
from tests.postgres import FENCING_TABLE, Database, Server

FLOWS = [f"counter-{number}" for number in range(4)]
_TABLES = """
CREATE TABLE counters (id text PRIMARY KEY, "Count" bigint);
CREATE TABLE landed (number bigserial PRIMARY KEY, id text, count bigint, token bigint);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO public.landed (id, count, token) SELECT NEW.id, NEW."Count", fencing_token
    FROM public.dexzd_attribute_sync_fencing WHERE xmin = pg_current_xact_id()::xid;
  RETURN NULL;
END $$;
CREATE TRIGGER note AFTER INSERT OR UPDATE ON counters FOR EACH ROW EXECUTE FUNCTION note();
"""
_CONFIG = """
attributeStore:
  stores:
    counters: {{ type: postgres, dsn: "{dsn}", tableName: public.counters }}
  syncRetryPolicy: {{ initialInterval: 20ms, maximumInterval: 200ms }}
"""


class Counters:
    """Some of them, and their table in a database of a server. The nodes know it by the file `config`."""

    def __init__(self, server: Server, folder: Path) -> None:
        server.execute("CREATE DATABASE counters")
        self._database = Database(server, "counters")
        self._database.execute(FENCING_TABLE + _TABLES)
        self._counter = Counter()
        self.config = folder / "sync.yaml"
        self.config.write_text(_CONFIG.format(dsn=self._database.local_dsn))

    def start(self, client: Client) -> None:
        """Begin with nothing counted."""
        options = StartFlowOptions(config_override=FlowConfig(attribute_store_names=["counters"]))
        for flow_id in FLOWS:
            client.start_flow(self._counter, flow_id, options=options)

    def count(self, client: Client, flow_id: str) -> int:
        """Count one more.

        Raises:
            RPCLockConflict: others did throughout.
            Unavailable: it may have been counted or not.
        """
        client.register(self._counter)
        return LockRetry().run(lambda: client.invoke_rpc(self._counter.count, flow_id))

    def values(self, client: Client) -> dict[str, int]:
        """Give what they are at."""
        return {flow_id: client.get_attribute(COUNT, flow_id) or 0 for flow_id in FLOWS}

    def settle(self, client: Client) -> dict[str, int]:
        """Count each one once more, wait until the table has it, and give what they are at."""
        wanted = {flow_id: self.count(client, flow_id) for flow_id in FLOWS}
        wait_for(lambda: self._rows() == wanted, f"the rows {wanted}", lambda: str(self._rows()))
        return wanted

    def check(self, values: Mapping[str, int], before: ClusterStatus) -> int:
        """Refuse rows that are not those of the newest owners, who settled after `before`; give how many landed."""
        assert self._rows() == values
        landed: Sequence[tuple[str, int, int]] = self._database.rows(
            "SELECT id, count, token FROM landed ORDER BY number"
        )  # type: ignore[assignment]  # as its columns are
        for flow_id in FLOWS:
            counts = [count for each, count, _ in landed if each == flow_id]
            tokens = [token for each, _, token in landed if each == flow_id]
            assert counts == sorted(counts), f"an older value of {flow_id} landed after a newer one"
            assert tokens == sorted(tokens), f"an older owner's write of {flow_id} landed after a newer one's"
            assert counts[-1] == values[flow_id]
            assert tokens[-1] >= before.partitions[partition_of(flow_id, len(before.partitions))].epoch
        return len(landed)

    def _rows(self) -> dict[str, int]:
        return dict(self._database.rows('SELECT id, "Count" FROM counters'))
