"""`dex serve` (spec: K-01, K-02)."""

import logging
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dex.cli.session import Ctx, Session
from dex.cli.syncing import check_stores, open_sync, refuse_wrong, sync_config
from dex.wcl.errors import DexError, InputError

if TYPE_CHECKING:
    import ssl

    from dex.engine.cluster.engine import ClusterEngine

EXAMPLES = """
dex serve
dex serve --port 8080 --flows orders.py
dex serve --sync-config sync.yaml
dex serve --cluster nats://a,nats://b,nats://c --node one --data-dir /var/lib/dex
dex serve --host 0.0.0.0 --tokens tokens.yaml --tls-cert cert.pem --tls-key key.pem
"""


def run(
    ctx: Ctx,
    host: Annotated[str, typer.Option("--host", metavar="H", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="P", min=0, max=65535, help="Port to listen on; 0 is any.")
    ] = 7171,
    tokens: Annotated[
        Path | None, typer.Option("--tokens", metavar="FILE", help="YAML list of {name, token, scope}.")
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option("--tls-cert", metavar="FILE", help="Certificate with its chain, PEM.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="Its key, PEM.")] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="URL,…",
            envvar="DEX_CLUSTER",
            show_envvar=False,
            help="Journal servers: nats://USER:PASSWORD@HOST[:PORT][?monitor=PORT] [DEX_CLUSTER].",
        ),
    ] = None,
    node: Annotated[
        str | None, typer.Option("--node", metavar="NAME", help="The name of this node in the cluster.")
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Let others than this machine in without tokens or TLS.")
    ] = False,
) -> None:
    """Serve the embedded engine over HTTP, or a node of a cluster.

    Runs until Ctrl-C or SIGTERM; what was accepted is finished first. Steps of the Flow types that are loaded are
    worked here, and with --sync-config attributes are synced to their stores. Others use it with --endpoint.

    With --tokens whoever asks needs one, of scope read, write or admin; the file is read again when it changes.
    Beyond this machine tokens and TLS are required. The log on standard error is JSON, one line a request.

    With --cluster and --node this is a node, whose --data-dir is its own; other nodes reach it at --host. Have the same
    tokens on all nodes, as clients go on at another one when theirs is lost. `?monitor=PORT` of a journal server is the
    port of its `http`, where that is not 8222.
    """
    session = ctx.obj
    if node and not cluster:
        raise InputError(
            f"--node {node} is for a cluster, and none is named", "name its journal servers: --cluster or DEX_CLUSTER"
        )
    engine = session.local if not cluster else _node(session, cluster, node)
    try:
        from dex.engine.server.log import logging_to_stderr
        from dex.engine.server.node import Address, serve
        from dex.engine.server.terms import Terms
        from dex.engine.server.tokens import Tokens
    except ImportError as error:
        raise DexError(
            f"serving needs {error.name}, which is not installed", "install dex with its extra `server`"
        ) from error
    # A node of a cluster syncs the partitions that it owns, as it comes to own them.
    syncs_here = session.settings["sync-config"] is not None and cluster is None
    if cluster is not None and session.settings["sync-config"] is not None:
        refuse_wrong(check_stores(sync_config(session)))
    terms = Terms(tokens=None if tokens is None else Tokens(tokens), any_name=insecure)
    tls = _tls(tls_cert, tls_key)
    with (
        logging_to_stderr(logging.WARNING if session.quiet else logging.INFO) as log,
        open_sync(session, level=None) if syncs_here else nullcontext() as sync,
        # A node tells of what goes wrong while it leaves, too.
        nullcontext() if cluster is None else closing(engine),
    ):
        session.server_log = log
        serve(
            engine,
            Address(host, port),
            terms=terms,
            tls=tls,
            sync=sync,
            ready=lambda url: log.info("serving %s on %s", engine.data_dir, url, extra={"fields": {"url": url}}),
        )


def _node(session: Session, servers: str, name: str | None) -> "ClusterEngine":
    """Give the engine of a node of a cluster.

    Raises:
        InputError: it has no name, or one that cannot be, or a server no address.
        DexError: a library is missing.
    """
    if not name:
        raise InputError("a node of a cluster needs a name", "give each node its own: --node NAME")
    from dex.engine.cluster.settings import ClusterSettings, parse_node, parse_servers

    settings = ClusterSettings(servers=parse_servers(servers), node=parse_node(name))
    try:
        return session.open_node(settings)
    except ImportError as error:
        raise DexError(
            f"a cluster needs {error.name}, which is not installed", "install dex with its extra `cluster`"
        ) from error


def _tls(certificate: Path | None, key: Path | None) -> "ssl.SSLContext | None":
    """Read certificate and key.

    Raises:
        InputError: one is missing or cannot be used.
    """
    from dex.engine.server.tls import tls_context

    if certificate is not None and key is not None:
        return tls_context(certificate, key)
    if certificate is not None or key is not None:
        missing = "--tls-key" if key is None else "--tls-cert"
        raise InputError(f"{missing} is missing", "give both --tls-cert and --tls-key, or none")
    return None
