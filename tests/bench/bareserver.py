"""The reference of requests: a route of the same framework on the same server that does nothing."""

import sys

import uvicorn
from litestar import Litestar, Response, get
from litestar import Request as HttpRequest


@get("/{name:str}", status_code=200)
async def nothing(request: HttpRequest[None, None, None], name: str) -> Response[bytes]:
    """Answer with a few bytes."""
    del request, name
    return Response(b'{"ok":true}', media_type="application/json")


if __name__ == "__main__":
    app = Litestar(route_handlers=[nothing], openapi_config=None, logging_config=None)
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_config=None, access_log=False)
