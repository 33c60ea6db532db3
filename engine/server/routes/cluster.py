"""Between the nodes of a cluster: commands that only the owner of a partition may carry out (spec: K-07)."""

from typing import Any

from dex.engine.cluster.settings import FORWARDED_PATH
from dex.engine.server.call import Call
from dex.engine.server.route import Request, Route
from dex.wcl.commands.flows import DescribeFlow
from dex.wcl.errors import NotFound
from dex.wcl.wire import any_command, decode_commands


async def _forwarded(call: Call, request: Request) -> Any:
    engine = request.dispatcher.engine
    here = getattr(engine, "execute_here", None)
    if here is None:
        raise NotFound("this server is no node of a cluster", "send commands to /v1/commands")
    (command,), _ = decode_commands(call.body)
    return await request.dispatcher.execute_here(command, lambda: here(command))


ROUTES = (
    Route(
        method="POST",
        path=FORWARDED_PATH,
        summary="Carry out a command as the owner of its partition; for the other nodes of a cluster",
        tag="cluster",
        answer=_forwarded,
        result=Any,
        scope="admin",
        body=any_command(),
        body_example=DescribeFlow(flow_id="order-1"),
        result_example={},
        errors=(404, 409, 412),
    ),
)
