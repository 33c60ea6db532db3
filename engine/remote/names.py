"""Names for shell completion, asked of a server: the counterpart of dex.engine.names."""

from dex.engine.remote.engine import RemoteEngine
from dex.wcl.commands import ShowFeeds, ShowStateStores
from dex.wcl.commands.cluster import ShowCluster
from dex.wcl.commands.flows import DescribeFlow, SearchFlows


def list_names(engine: RemoteEngine, kind: str) -> list[str]:
    """Give the names of all live objects of a kind, `store` or `feed`.

    Raises:
        DexError: the server does not tell.
    """
    if kind == "store":
        return [store.name for store in engine.execute(ShowStateStores())]
    return [feed.name for feed in engine.execute(ShowFeeds())]


def named_keys(engine: RemoteEngine, store: str) -> list[str]:
    """Give the named keys of a live store, in the order of their declaration; none where there is no such store.

    Raises:
        DexError: as `list_names`.
    """
    return [key.name for found in engine.execute(ShowStateStores()) if found.name == store for key in found.keys]


def node_names(engine: RemoteEngine) -> list[str]:
    """Give the names of the nodes of a cluster that answer.

    Raises:
        DexError: as `list_names`, or the server is no node of a cluster.
    """
    return [node.name for node in engine.execute(ShowCluster()).nodes if node.alive]


def flow_ids(engine: RemoteEngine, prefix: str) -> list[str]:
    """Give the Flow IDs of the newest runs that begin with a prefix.

    Raises:
        DexError: as `list_names`.
    """
    runs = engine.execute(SearchFlows(limit=_MOST)).flows
    return sorted({run.flow_id for run in runs if run.flow_id.startswith(prefix)})


def run_ids(engine: RemoteEngine, flow_id: str) -> list[str]:
    """Give the id of a Flow's newest run.

    Raises:
        DexError: as `list_names`, or there is none.
    """
    return [engine.execute(DescribeFlow(flow_id=flow_id)).run_id]


def flow_type(engine: RemoteEngine, flow_id: str) -> str | None:
    """Give the type of a Flow's newest run.

    Raises:
        DexError: as `run_ids`.
    """
    return engine.execute(DescribeFlow(flow_id=flow_id)).type


_MOST = 500
