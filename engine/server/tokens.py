"""Who may do what: bearer tokens with a scope each."""

from dex.wcl.errors import Forbidden
from dex.wcl.scopes import SCOPES, Scope


def check(held: Scope, needed: Scope) -> None:
    """Refuse what a scope does not include.

    Raises:
        Forbidden: with both scopes.
    """
    if SCOPES.index(held) < SCOPES.index(needed):
        raise Forbidden(
            f"this needs the scope {needed}, and the token has {held}", f"use a token with {needed}", scope=needed
        )
