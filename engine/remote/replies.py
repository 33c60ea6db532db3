"""What came back from an address: the result of a dex server, its error, or something else told in one line."""

from collections.abc import Callable
from typing import Any, TypeVar

import httpx
import msgspec

from dex.engine.remote.trying import LostReply, NotReached
from dex.wcl.errors import DexError, InputError, Refused, Unavailable
from dex.wcl.wireerrors import error_from_wire

R = TypeVar("R")


def read_reply(url: str, send: Callable[[], httpx.Response], read: Callable[[Any], R]) -> R:
    """Send a request and give its answer; `read` makes it of JSON, and raises InputError for what is none.

    Raises:
        NotReached: no connection came about, so nothing was sent.
        LostReply: it was sent, and no whole answer came.
        DexError: what the server refused; Refused or Unavailable where this is no dex server.
    """
    try:
        response = send()
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
        raise NotReached(f"{url}: {_reason(error)}") from error
    except httpx.TimeoutException as error:
        raise LostReply(f"{url}: no answer in time") from error
    except httpx.InvalidURL as error:
        raise Refused(f"{url} is not an address: {error}", "check --endpoint") from error
    except httpx.HTTPError as error:
        raise LostReply(f"{url}: {_reason(error)}") from error
    told = _json(url, response)
    try:
        return read(told)
    except InputError as error:
        raise _foreign(url, response) from error


def _json(url: str, response: httpx.Response) -> Any:
    try:
        told = msgspec.json.decode(response.content)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise _foreign(url, response) from error
    if response.status_code == 200:
        return told
    if isinstance(told, dict) and isinstance(told.get("error"), dict) and "message" in told["error"]:
        raise error_from_wire(told["error"])
    raise _foreign(url, response)


def _foreign(url: str, response: httpx.Response) -> DexError:
    """Give the error for an answer that no dex server gives."""
    kind = Unavailable if response.status_code >= 500 else Refused
    return kind(
        f"{url} answered {response.status_code}, and this is not a dex server's answer",
        "check --endpoint; a proxy may stand before the server",
        url=url,
        http_status=response.status_code,
    )


def _reason(error: httpx.HTTPError) -> str:
    """Give the reason in plain words, as the system told it."""
    text = str(error) or type(error).__name__
    if "refused" in text.lower():
        return "connection refused"
    if isinstance(error, httpx.ConnectTimeout):
        return "no connection in time"
    if isinstance(error, httpx.RemoteProtocolError):
        return f"the answer is truncated or not HTTP ({text})"
    return text
