"""The document of the HTTP interface (spec: K-01)."""

from typing import Any

from dex.engine.server.call import Call
from dex.engine.server.route import Request, Route


async def _document(_call: Call, _request: Request) -> bytes:
    from dex.engine.server.openapi import document

    return document()


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
