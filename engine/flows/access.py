"""What a call locks and loads (spec: FL-05, FL-07)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Access:
    """Keys and names beyond the plain Attributes, which every call loads.

    `locks` are keys of Attributes and map instances; `maps` are AttributeMaps loaded whole, `instances` are keys of
    single ones; `channels` are names of Channels, or keys of ChannelMap instances, whose messages are loaded.
    """

    locks: frozenset[str] = frozenset()
    maps: frozenset[str] = frozenset()
    instances: frozenset[str] = frozenset()
    channels: frozenset[str] = frozenset()

    def union(self, other: "Access") -> "Access":
        """Give what either locks and loads."""
        return Access(
            self.locks | other.locks,
            self.maps | other.maps,
            self.instances | other.instances,
            self.channels | other.channels,
        )
