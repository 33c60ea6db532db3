"""One request as the log tells of it: its id, its route, who asks and what came of it (spec: K-01)."""

import re
import secrets
from itertools import count
from typing import Any

from dex.engine.server.headers import Headers, first
from dex.engine.server.metrics import NO_ROUTE
from dex.engine.server.tokens import ANYBODY, Holder, Tokens
from dex.wcl.errors import DexError, Unauthorized

_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_KEY = "dex.exchange"
# Unlike those of other processes, and cheaper than chance for each.
_PROCESS = secrets.token_hex(4)
_NUMBERS = count(1)


class Exchange:
    """Kept in the request's scope.

    `status` is 0 until there is a response; `route` is the template of its path; `failure` is why there was no answer.
    """

    __slots__ = ("_holder", "failure", "id", "route", "status")

    def __init__(self, headers: Headers) -> None:
        given = first(headers, b"x-request-id")
        self.id = given.decode() if given is not None and _ID.fullmatch(given) else f"{_PROCESS}{next(_NUMBERS):08x}"
        self.route = NO_ROUTE
        self.status = 0
        self.failure: DexError | None = None
        self._holder: Holder | Unauthorized = ANYBODY

    @classmethod
    def begin(cls, scope: Any) -> "Exchange":
        """Make the exchange of a request and keep it in its scope."""
        scope[_KEY] = exchange = cls(scope["headers"])
        return exchange

    @staticmethod
    def of(scope: Any) -> "Exchange":
        """Give the exchange of a request."""
        found: Exchange = scope[_KEY]
        return found

    @property
    def holder(self) -> Holder:
        """Who asks.

        Raises:
            Unauthorized: nobody who is known.
        """
        if isinstance(self._holder, Unauthorized):
            raise self._holder
        return self._holder

    @property
    def token_name(self) -> str | None:
        """The name of the token, None where there is none."""
        return None if isinstance(self._holder, Unauthorized) else self._holder.name

    def recognise(self, tokens: Tokens, headers: Headers, *, takes_basic: bool) -> None:
        """Find out who asks; a route that nobody needs a token for does not mind that it is nobody."""
        try:
            self._holder = tokens.holder(first(headers, b"authorization"), takes_basic=takes_basic)
        except Unauthorized as error:
            self._holder = error
