"""The client of the journal servers, where it has to be other than the library's."""

import asyncio
from typing import Any

from nats.aio.client import Client as NatsClient
from nats.aio.transport import TcpTransport

# For so long a connection that is closed may take what waits to be sent.
_SEND_SECONDS = 2.5


class _Transport(TcpTransport):
    """The library's, which tells of a lost connection as the library knows it.

    uvloop raises RuntimeError where something is written to one that was just lost; the library takes that for the end
    of its loop, and sends and connects no more, or whoever calls it is told.
    """

    def __init__(self, made: TcpTransport) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        vars(self).update(vars(made))

    def write(self, payload: Any) -> None:
        """Write some bytes."""
        try:
            super().write(payload)  # type: ignore[no-untyped-call]
        except RuntimeError as error:
            raise ConnectionResetError(str(error)) from error

    def writelines(self, payload: Any) -> None:
        """Write several pieces."""
        try:
            super().writelines(payload)  # type: ignore[no-untyped-call]
        except RuntimeError as error:
            raise ConnectionResetError(str(error)) from error

    async def connect_tls(self, *arguments: Any, **options: Any) -> None:
        """Go on with TLS."""
        try:
            await super().connect_tls(*arguments, **options)
        except RuntimeError as error:
            raise ConnectionResetError(str(error)) from error


class Client(NatsClient):
    """The client, which gives up what a connection has not sent before it makes the next one, or none.

    The library waits until that is sent: a server that hangs with its buffers full would be waited for as long.
    It goes to no server but those that it was told of: for the addresses at which these say that others of them are
    reached it has no credentials. `server_name` is that of the server that it has reached last.
    """

    server_name = ""

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        self.server_name = info.get("server_name", "")
        await super()._process_info({**info, "connect_urls": []}, initial_connection)

    def _give_up(self) -> None:
        writer = getattr(self._transport, "_io_writer", None)
        if writer is not None:
            writer.transport.abort()

    async def _connect_to_server(self, s: Any) -> None:
        self._give_up()
        await super()._connect_to_server(s)
        if type(self._transport) is TcpTransport:
            self._transport = _Transport(self._transport)

    async def _attempt_reconnect(self) -> None:
        self._give_up()
        await super()._attempt_reconnect()

    async def close(self) -> None:
        """Close the connection, and send what waits if the server takes it at once."""
        giving_up = asyncio.get_running_loop().call_later(_SEND_SECONDS, self._give_up)
        try:
            await super().close()
        finally:
            giving_up.cancel()
