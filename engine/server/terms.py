"""On what terms clients are served (spec: K-02)."""

from dataclasses import dataclass, field

from dex.engine.server.limits import Limits
from dex.engine.server.tokens import Tokens


@dataclass(frozen=True, kw_only=True)
class Terms:
    """The tokens that are known, and the limits. Without tokens anybody may do anything.

    `any_name` is false where only this machine is to reach the server without a token: a page of another site could
    point a name of its own here.
    """

    tokens: Tokens | None = None
    any_name: bool = True
    limits: Limits = field(default_factory=Limits)
