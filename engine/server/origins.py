"""What a browser may send here: a page of another site must neither read nor change anything (spec: K-02)."""

import ipaddress
import re
from functools import lru_cache

from dex.engine.server.headers import Headers, first
from dex.wcl.errors import Forbidden

_PORT = re.compile(r":\d*$")


def refuse_other_sites(headers: Headers) -> None:
    """Refuse what a page of another site has a browser send.

    Raises:
        Forbidden: the Origin is not this server.
    """
    origin = first(headers, b"origin")
    if origin is not None and origin.partition(b"://")[2].lower() != (first(headers, b"host") or b"").lower():
        raise Forbidden("pages of other sites may not use this server", "call it from a program, or from its own page")


def refuse_other_names(headers: Headers) -> None:
    """Refuse a name other than `localhost` or an address: one that another site has pointed here.

    Raises:
        Forbidden: with what to do.
    """
    if not _is_own(first(headers, b"host") or b"localhost"):
        raise Forbidden(
            "this server has no tokens and answers to localhost alone",
            "use its address, or serve with --tokens or --insecure",
        )


@lru_cache(maxsize=64)
def _is_own(host: bytes) -> bool:
    """Tell whether a host is one that no other site can be called by."""
    name = _PORT.sub("", host.decode("latin-1")).lower()
    return name == "localhost" or name.endswith(".localhost") or _is_address(name.strip("[]"))


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
