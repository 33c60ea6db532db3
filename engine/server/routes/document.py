"""The document of the HTTP interface (spec: K-01)."""

from typing import Any

from dex.engine.server.call import Call
from dex.engine.server.route import Request, Route


async def _document(_call: Call, request: Request) -> bytes:
    return request.document()


ROUTES = (
    Route(
        method="GET",
        path="/openapi.json",
        summary="Give this document",
        tag="server",
        answer=_document,
        result=dict[str, Any],
        result_example={"openapi": "3.1.0"},
        public=True,
    ),
)
