"""What whoever runs a server asks of it (spec: K-01)."""

from dex.engine.server.call import Call
from dex.engine.server.health import Readiness
from dex.engine.server.route import Request, Route


async def _lives(_call: Call, _request: Request) -> dict[str, str]:
    return {"status": "ok"}


async def _is_ready(_call: Call, request: Request) -> Readiness:
    return await request.health.readiness()


async def _metrics(_call: Call, request: Request) -> bytes:
    return (await request.metrics.render()).encode()


ROUTES = (
    Route(
        method="GET",
        path="/healthz",
        summary="Tell that the process lives",
        tag="server",
        answer=_lives,
        result=dict[str, str],
        result_example={"status": "ok"},
        public=True,
    ),
    Route(
        method="GET",
        path="/readyz",
        summary="Tell whether the journal can be written and sync runs; 503 with `reasons` where not",
        tag="server",
        answer=_is_ready,
        result=Readiness,
        result_example=Readiness(sync="owner"),
        public=True,
        errors=(503,),
    ),
    Route(
        method="GET",
        path="/metrics",
        summary="Give the metrics of the server and of sync in Prometheus' text format",
        tag="server",
        answer=_metrics,
        result=str,
        result_example="dex_commits_total 17.0\n",
        media_type="text/plain; version=0.0.4",
    ),
)
