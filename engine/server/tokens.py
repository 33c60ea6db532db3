"""Who may do what: bearer tokens with a scope each (spec: K-02)."""

import base64
import binascii
import hmac
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from dex.engine.server.tokenfile import digest_of, read_tokens
from dex.wcl.errors import Forbidden, InputError, Unauthorized
from dex.wcl.scopes import SCOPES, Scope

_log = logging.getLogger("dex.server")
_LOOK_SECONDS = 1.0


class Holder(NamedTuple):
    """Who asks: the name of the token, and what it allows."""

    name: str | None
    scope: Scope


ANYBODY = Holder(None, "admin")
"""Who asks a server that has no tokens."""


def check(held: Scope, needed: Scope) -> None:
    """Refuse what a scope does not include.

    Raises:
        Forbidden: with both scopes.
    """
    if SCOPES.index(held) < SCOPES.index(needed):
        raise Forbidden(
            f"this needs the scope {needed}, and the token has {held}", f"use a token with {needed}", scope=needed
        )


class Tokens:
    """The tokens of a file, read again when it changes; a bad new file leaves those that were read before.

    Raises:
        InputError: the file is bad from the start.
    """

    def __init__(self, path: Path, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._monotonic = monotonic
        self._seen = self._signature()
        self._tokens = read_tokens(path)
        self._looked_at = monotonic()
        self._secret: Callable[[], str] = str

    def admit_nodes(self, secret: Callable[[], str]) -> None:
        """Let the other nodes of the cluster in, who know the secret that it has."""
        self._secret = secret

    def holder(self, authorization: bytes | None, *, takes_basic: bool) -> Holder:
        """Give who asks, by an Authorization header; where `takes_basic` the token may also be a password.

        A browser sends a password by itself, even for a page of another site: it is for what only reads.

        Raises:
            Unauthorized: it has no token, or one that is not known.
        """
        if authorization is None:
            raise Unauthorized("this server asks for a token", "send Authorization: Bearer TOKEN, or --token TOKEN")
        self._refresh()
        sent, found = digest_of(_token_in(authorization, takes_basic=takes_basic)), None
        for token in self._tokens:  # all of them, so that the time does not tell which one came near
            if hmac.compare_digest(token.digest, sent):
                found = token
        secret = self._secret()
        if secret and hmac.compare_digest(digest_of(secret.encode()), sent):
            return Holder("node", "admin")
        if found is None:
            raise Unauthorized("this token is not known here", "check it, or ask whoever runs the server for one")
        return Holder(found.name, found.scope)

    def _refresh(self) -> None:
        now = self._monotonic()
        if now - self._looked_at < _LOOK_SECONDS:
            return
        self._looked_at = now
        signature = self._signature()
        if signature == self._seen:
            return
        self._seen = signature
        try:
            self._tokens = read_tokens(self._path)
        except InputError as error:
            _log.warning("the tokens stay as they were: %s", error)
        else:
            _log.info("%d tokens are read from %s", len(self._tokens), self._path)

    def _signature(self) -> tuple[int, ...] | None:
        try:
            status = os.stat(self._path)  # noqa: PTH116  # once a second on the way of a request
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size, status.st_mode


def _token_in(authorization: bytes, *, takes_basic: bool) -> bytes:
    """Give the token of an Authorization header, or what is none."""
    scheme, _, rest = authorization.partition(b" ")
    if scheme.lower() == b"bearer":
        return rest.strip()
    if scheme.lower() == b"basic" and takes_basic:
        try:
            return base64.b64decode(rest, validate=True).partition(b":")[2]
        except binascii.Error:
            return b""
    return b""
