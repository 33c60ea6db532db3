"""Which partition a command belongs to: that of its store, feed or Flow ID, so that none needs two (spec: K-03)."""

from zlib import crc32

from dex.wcl.commands import Command, DefineStateStore, FromFeed


def partition_of(name: str, partitions: int) -> int:
    """Give the partition of a name: of a Flow ID, a feed, or a store that has no feed."""
    return crc32(name.encode("utf-8", "surrogatepass")) % partitions


def feed_of(command: Command[object]) -> str | None:
    """Give the name of the feed that a command is on, that of a feed-sourced store included."""
    if isinstance(command, DefineStateStore):
        return command.source.feed if isinstance(command.source, FromFeed) else None
    if command.__struct_config__.tag in ("define_feed", "drop_feed", "describe_feed"):
        return str(command.name)  # type: ignore[attr-defined]  # these three have it
    return getattr(command, "feed", None)


def store_of(command: Command[object]) -> str | None:
    """Give the name of the store that a command is on."""
    if str(command.__struct_config__.tag).endswith("_state_store"):
        return str(command.name)  # type: ignore[attr-defined]  # all of these have it
    return getattr(command, "store", None)
