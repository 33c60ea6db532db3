"""The addresses of servers: `http://host:port`, several with commas between them."""

from typing import NamedTuple
from urllib.parse import urlsplit

from dex.wcl.errors import InputError


class Endpoint(NamedTuple):
    """One server's address, without a slash at its end."""

    url: str


def is_endpoint(target: str) -> bool:
    """Tell whether a target is written as an address rather than as a directory."""
    return "://" in target


def parse_endpoints(text: str) -> list[Endpoint]:
    """Read one or several addresses (spec: X-01).

    Raises:
        InputError: one is not an address of HTTP; nothing is connected to.
    """
    return [_parse(part.strip()) for part in text.split(",")]


def _parse(text: str) -> Endpoint:
    remedy = "write http://HOST:PORT or https://HOST:PORT, several with commas between them"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise InputError(f"{text!r} is not an endpoint: {error}", remedy) from error
    if parts.scheme not in ("http", "https"):
        raise InputError(f"{text!r} is not an endpoint: it begins with neither http:// nor https://", remedy)
    if not parts.hostname or port == 0:
        raise InputError(f"{text!r} is not an endpoint: it names no host or a port of 0", remedy)
    if parts.username is not None or parts.query or parts.fragment:
        raise InputError(f"the endpoint {parts.hostname} has a user, a query or a fragment", remedy + "; see --token")
    return Endpoint(text.rstrip("/"))
