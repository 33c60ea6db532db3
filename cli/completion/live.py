"""Names of stores, feeds and contexts, read when they are asked for."""

import os

from dex.cli.settings import resolve
from dex.wcl.errors import DexError


def live_names(kind: str, given: dict[str, str]) -> list[str]:
    """Give the names of a kind (STORE, FEED or CONTEXT) under the options given so far; none where that fails."""
    flags = {name[2:]: given[name] for name in ("--data-dir", "--config", "--context") if name in given}
    try:
        if kind == "CONTEXT":
            flags.pop("context", None)
            environ = {name: value for name, value in os.environ.items() if name != "DEX_CONTEXT"}
            return list(resolve(flags, environ).config.get("contexts", {}))
        from dex.engine.names import list_names

        return list_names(resolve(flags, os.environ)["data-dir"], kind.lower())
    except (DexError, OSError):
        return []
