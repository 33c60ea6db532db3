"""What came back from an address: the result of a dex server, its error, or something else told in one line."""

import re
import ssl
from collections.abc import Callable
from typing import Any, TypeVar

import httpx
import msgspec

from dex.engine.remote.trying import LostReply, NotReached
from dex.wcl.errors import InputError, Refused
from dex.wcl.wireerrors import error_from_wire

R = TypeVar("R")


def read_reply(url: str, send: Callable[[], httpx.Response], read: Callable[[Any], R]) -> R:
    """Send a request and give its answer; `read` makes it of JSON, and raises InputError for what is none.

    Raises:
        NotReached: no connection came about, so nothing was sent.
        LostReply: it was sent, and no whole answer came, or one of a gateway that has had none.
        DexError: what the server refused; Refused where this is no dex server.
    """
    try:
        response = send()
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
        raise _not_reached(url, error) from error
    except httpx.TimeoutException as error:
        raise LostReply(f"{url}: no answer in time") from error
    except httpx.InvalidURL as error:
        raise _no_address(url, error) from error
    except httpx.HTTPError as error:
        raise LostReply(f"{url}: {_reason(error)}") from error
    told = _json(url, response)
    try:
        return read(told)
    except InputError as error:
        raise _foreign(url, response) from error


def check_answers(url: str, send: Callable[[], httpx.Response]) -> None:
    """See that somebody answers at all.

    Raises:
        NotReached: nobody does, in time.
        Refused: it is no address.
    """
    try:
        send()
    except httpx.TimeoutException as error:
        raise NotReached(f"{url}: no answer in time", "see whether the server hangs") from error
    except httpx.InvalidURL as error:
        raise _no_address(url, error) from error
    except httpx.HTTPError as error:
        raise _not_reached(url, error) from error


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


def _foreign(url: str, response: httpx.Response) -> Refused | LostReply:
    """Give the error for an answer that no dex server gives."""
    message = f"{url} answered {response.status_code}, and this is not a dex server's answer"
    remedy = "check --endpoint; a proxy may stand before the server"
    kind = LostReply if response.status_code >= 500 else Refused
    return kind(message, remedy, url=url, http_status=response.status_code)


def _no_address(url: str, error: httpx.InvalidURL) -> Refused:
    return Refused(f"{url} is not an address: {error}", "check --endpoint")


def _not_reached(url: str, error: httpx.HTTPError) -> NotReached:
    """Give the error for a connection that did not come about."""
    tls = _tls_error(error)
    if isinstance(tls, ssl.SSLCertVerificationError):
        remedy = "where it is a right one, name the file of who signed it in SSL_CERT_FILE"
        return NotReached(f"{url}: the certificate is not trusted here: {tls.verify_message}", remedy)
    if tls is not None and tls.reason == "WRONG_VERSION_NUMBER":
        return NotReached(f"{url}: there is no TLS at this port", "write http:// where the server has no certificate")
    return NotReached(f"{url}: {_reason(error)}")


def _tls_error(error: BaseException) -> ssl.SSLError | None:
    """Find the error of TLS that one of a connection came from."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__ or cause.__context__
    return cause


def _reason(error: httpx.HTTPError) -> str:
    """Give the reason in plain words, as the system told it."""
    text = re.sub(r"^\[Errno -?\d+\] ", "", str(error)) or type(error).__name__
    if "refused" in text.lower():
        return "connection refused"
    if isinstance(error, httpx.ConnectTimeout):
        return "no connection in time"
    if isinstance(error, httpx.RemoteProtocolError):
        return f"the answer is truncated or not HTTP ({text})"
    return text
