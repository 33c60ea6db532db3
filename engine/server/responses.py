"""Responses that no route gives: errors in our form, as ASGI messages and as bytes on a socket."""

import logging
from http import HTTPStatus

import msgspec
from litestar.types import Send

from dex.engine.server.headers import Headers, with_security
from dex.wcl.errors import DexError
from dex.wcl.wireerrors import error_to_wire

_log = logging.getLogger("dex.server")


class Bug(DexError):
    """Something that nobody foresaw. Fact: `request_id`, by which the log tells of it."""

    kind = "bug"

    @classmethod
    def logged(cls, error: BaseException, request_id: str) -> "Bug":
        """Log where an error comes from, and give what a client is told."""
        _log.error("a request failed by a bug", exc_info=error, extra={"fields": {"request_id": request_id}})
        return cls("this is a bug in dex", "look for the request id in the server's log", request_id=request_id)


async def respond(send: Send, status: int, headers: Headers, body: bytes) -> None:
    """Send a whole response."""
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def error_body(error: DexError) -> bytes:
    """Give the document that tells of an error."""
    return msgspec.json.encode({"error": error_to_wire(error)}, enc_hook=str)


def error_headers(body: bytes) -> Headers:
    """Give the headers of such a document."""
    return [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]


def raw_response(error: DexError) -> bytes:
    """Give the whole response to what is no request, after which its connection is closed."""
    body = error_body(error)
    headers = [*with_security(error_headers(body)), (b"connection", b"close")]
    lines = b"".join(b"%s: %s\r\n" % header for header in headers)
    status = HTTPStatus(error.status)
    return b"HTTP/1.1 %d %s\r\n%s\r\n%s" % (status, status.phrase.encode(), lines, body)
