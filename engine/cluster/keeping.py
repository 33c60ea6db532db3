"""What the nodes of a cluster share stays while one of them runs (spec: K-03).

Where it was lost it is made anew, and what another node has made anew is taken over.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial

import nats.js.errors

from dex.engine.cluster import birth
from dex.engine.cluster.identity import Identity
from dex.engine.cluster.link import LINK_ERRORS, Link, in_words
from dex.engine.cluster.shared import Shared
from dex.engine.cluster.stream import Stream

_log = logging.getLogger("dex.cluster")
_LOOK_SECONDS = 3.0
_START_SECONDS = 30.0
_SECRET = "secret"  # noqa: S105  # its key


class Keeping:
    """Looks for one node. `on_secret` is told the secret by which the nodes know each other, whenever it is another.

    Whoever may use the journal servers may read it, and could write to the journal anyway.
    """

    def __init__(
        self, link: Link, shared: Shared, streams: Sequence[Stream], found: Identity, on_secret: Callable[[str], None]
    ) -> None:
        self._link = link
        self._shared = shared
        self._streams = streams
        self._found = found
        self._on_secret = on_secret
        self._secret = secrets.token_urlsafe(32).encode()
        self._task: Future[None] | None = None

    def start(self) -> None:
        """Find out the secret, or make it, and look from now on.

        Raises:
            Unavailable: the journal servers do not answer.
        """
        self._take(self._link.insist(partial(self._shared.once, _SECRET, self._secret), _START_SECONDS))
        self._task = self._link.submit(self._watch())

    def close(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()

    def _take(self, secret: bytes) -> None:
        self._secret = secret
        self._on_secret(secret.decode())

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            try:
                await self._look()
            except LINK_ERRORS as error:
                _log.debug("looking at %s: %s", self._shared.name, in_words(error))

    async def _look(self) -> None:
        """Take over a secret that another node has made, or make anew what was lost, for which that is kept as well."""
        try:
            found = await self._shared.read(_SECRET)
        except nats.js.errors.NotFoundError:
            # A cluster that was deleted as a whole is not begun anew.
            if {await stream.owner() for stream in self._streams} != {self._found.cluster_id}:
                return
            await birth.make_anew(self._shared, self._found)
        else:
            if found.data == self._secret:
                return
        secret = await self._shared.once(_SECRET, self._secret)
        if secret != self._secret:
            _log.warning("another node has made %s anew: taken over", self._shared.name)
            self._take(secret)
