"""TLS: the certificate, and connections whose handshake counts as waiting for the client (spec: K-02)."""

import asyncio
import ssl
from pathlib import Path
from typing import Any

from dex.engine.server.guard import Connection
from dex.wcl.errors import InputError


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Give the context of a certificate, with its chain, and its key; both are PEM.

    Raises:
        InputError: one cannot be read or used, or they do not belong together.
    """
    for path in (certificate, key):
        try:
            path.open("rb").close()
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}", "check --tls-cert and --tls-key") from error
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or "the key has a password"
        raise InputError(
            f"cannot use the certificate {certificate} with the key {key}: {reason}",
            "give a certificate and its own key in PEM, the key without a password",
        ) from error
    return context


def _no_password() -> str:
    """Keep OpenSSL from asking a terminal; an empty password opens nothing."""
    return ""


class Handshake(asyncio.Protocol):
    """What a connection is until it is encrypted: it can be closed like any other that waits."""

    def __init__(self, connection: Connection, context: ssl.SSLContext, seconds: float) -> None:
        self._connection = connection
        self._context = context
        self._seconds = seconds
        self._early = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begin."""
        self._connection.arrive(transport)
        if not transport.is_closing():  # for the sake of others
            self._shaking = asyncio.get_running_loop().create_task(self._shake(transport))

    def data_received(self, data: bytes) -> None:
        """Keep what comes before who is to read it: what decrypts, and then the connection."""
        self._early += data

    def _hand_over(self, plain: asyncio.Transport) -> None:
        """Give what decrypts the beginning of the handshake, which uvloop may have read before."""
        decrypting: Any = plain.get_protocol()
        while self._early and decrypting is not self:
            buffer = decrypting.get_buffer(len(self._early))
            size = min(len(buffer), len(self._early))
            buffer[:size] = self._early[:size]
            self._early = self._early[size:]
            decrypting.buffer_updated(size)

    def connection_lost(self, _error: Exception | None) -> None:
        """Forget a connection that ends before its time."""
        self._connection.forget()

    async def _shake(self, plain: asyncio.Transport) -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(self._hand_over, plain)  # once the next line has begun, and before anything else is read
        try:
            encrypted = await loop.start_tls(
                plain, self, self._context, server_side=True, ssl_handshake_timeout=self._seconds
            )
        except OSError:  # an error of TLS is one too
            encrypted = None
        if encrypted is None or encrypted.is_closing():
            self._connection.forget()
            plain.abort()
            return
        self._connection.connection_made(encrypted)
        encrypted.set_protocol(self._connection)
        if self._early:
            self._connection.data_received(self._early)
