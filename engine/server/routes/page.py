"""The status page, and the two files that it needs (spec: K-01)."""

from dex.engine.server.call import Call
from dex.engine.server.route import Answer, Request, Route
from dex.engine.server.statuspage import page_file

# Nothing but its own style and script, which may ask this server alone; nobody may put the page into a frame.
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


async def _page(_call: Call, request: Request) -> bytes:
    return await request.page.render()


def _file(name: str) -> Answer:
    async def answer(_call: Call, _request: Request) -> bytes:
        return page_file(name)

    return answer


ROUTES = (
    Route(
        method="GET",
        path="/",
        summary="Show a person how the server and all it holds are doing",
        tag="server",
        answer=_page,
        result=str,
        result_example="<!doctype html>…",
        media_type="text/html",
        headers={"content-security-policy": _POLICY},
    ),
    Route(
        method="GET",
        path="/page/style.css",
        summary="Give the style of the status page",
        tag="server",
        answer=_file("style.css"),
        result=str,
        result_example="body { margin: 0 }",
        public=True,
        media_type="text/css",
    ),
    Route(
        method="GET",
        path="/page/refresh.js",
        summary="Give the script that keeps the status page up to date",
        tag="server",
        answer=_file("refresh.js"),
        result=str,
        result_example='"use strict";',
        public=True,
        media_type="text/javascript",
    ),
)
