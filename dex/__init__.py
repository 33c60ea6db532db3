"""dex: a command line, a shell and an SDK for durable StateStores, Feeds and Flows.

The names below are the public SDK. They are imported when first used, so that `dex --version` and
shell completion stay as fast as a bare Python start.
"""

TYPE_CHECKING = False
"""As in typing, whose import would cost `dex --version` a fifth of its time."""

__version__ = "0.1.0"

if TYPE_CHECKING:
    from typing import Any

    from dex.engine.statestore import Extractor, StateStore
    from dex.wcl.commands import Freshness, StoreRow, StoreRows
    from dex.wcl.errors import (
        Conflict,
        DexError,
        FailedPrecondition,
        NotFound,
        Refused,
        Unavailable,
        WclSyntaxError,
    )

_HOME = {
    "Client": "dex.engine.client",
    "connect": "dex.engine.client",
    "Extractor": "dex.engine.statestore",
    "StateStore": "dex.engine.statestore",
    "Freshness": "dex.wcl.commands",
    "StoreRow": "dex.wcl.commands",
    "StoreRows": "dex.wcl.commands",
    "Conflict": "dex.wcl.errors",
    "DexError": "dex.wcl.errors",
    "FailedPrecondition": "dex.wcl.errors",
    "NotFound": "dex.wcl.errors",
    "Refused": "dex.wcl.errors",
    "Unavailable": "dex.wcl.errors",
    "WclSyntaxError": "dex.wcl.errors",
}

__all__ = [
    "Client",
    "Conflict",
    "DexError",
    "Extractor",
    "FailedPrecondition",
    "Freshness",
    "NotFound",
    "Refused",
    "StateStore",
    "StoreRow",
    "StoreRows",
    "Unavailable",
    "WclSyntaxError",
    "__version__",
    "connect",
]


def __getattr__(name: str) -> "Any":
    """Import a public name from its home on first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'dex' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value
