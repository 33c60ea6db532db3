"""What a store says of a named key that it does not declare."""

from dex.engine.catalog import Store
from dex.wcl.errors import Refused
from dex.wcl.names import check_is_text, did_you_mean


def undeclared(store: Store, name: str) -> Refused:
    """Give the error for a named key that `store` does not declare, with those it does (spec: S-05)."""
    check_is_text(name, "the name of a named key")
    declared = [key.name for key in store.keys]
    listing = f"declared: {', '.join(declared)}" if declared else "it declares none"
    hint = did_you_mean(name, declared)
    return Refused(
        f"store {store.name!r} has no named key {name!r}",
        f"{hint} ({listing})" if hint else listing,
        store=store.name,
        named_key=name,
        declared=declared,
    )
