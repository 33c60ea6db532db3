"""The Flow types that every dex knows, and those of a person's own sources (spec: FL-17)."""

from collections.abc import Sequence

from dex.engine.flows.registry import Registry
from dex.samples.chunked_subscribers import ChunkedSubscriberFlow
from dex.samples.customer_directory import CustomerDirectoryFlow


def default_registry(sources: Sequence[str] = ()) -> Registry:
    """Give a registry with the pattern Flows and those of `sources`: files, modules or `module:attr`.

    A source that cannot be loaded takes nothing else down; it is told in the registry's `problems`.
    """
    registry = Registry()
    registry.register(CustomerDirectoryFlow)
    registry.register(ChunkedSubscriberFlow)
    for source in sources:
        registry.load(source)
    return registry
