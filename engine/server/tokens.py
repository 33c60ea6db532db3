"""Who may do what: bearer tokens with a scope each."""

from dex.wcl.errors import DexError
from dex.wcl.scopes import SCOPES, Scope


class Unauthorized(DexError):
    """No token, or one that is not known."""

    kind = "unauthorized"
    status = 401


class Forbidden(DexError):
    """The token's scope does not allow it."""

    kind = "forbidden"
    status = 403


def check(held: Scope, needed: Scope) -> None:
    """Refuse what a scope does not include.

    Raises:
        Forbidden: with both scopes.
    """
    if SCOPES.index(held) < SCOPES.index(needed):
        raise Forbidden(
            f"this needs the scope {needed}, and the token has {held}", f"use a token with {needed}", scope=needed
        )
