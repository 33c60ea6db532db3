"""A private network: each member in a network namespace of its own on one bridge, so that links between them can break.

The bridge is in one more namespace, which the test's own thread enters meanwhile, with the threads and processes that
it starts. Nothing of it is on the machine's real interfaces, and two such networks know nothing of each other.
"""

import ctypes
import os
import shutil
import subprocess
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count, product

from dex.engine.cluster.servers import Place

HUB = "hub"
"""The member that the test's own thread is."""

_CLONE_NEWNET = 0x40000000
_NAMES = count(1)
# Nobody has this address, so that what is sent to it is lost.
_NOWHERE = "02:00:00:00:00:01"


class Network:
    """A network of some members. A cut is silent: what is sent is lost, and connections seem to stand."""

    def __init__(self, members: Sequence[str]) -> None:
        self.name = f"dex{os.getpid()}-{next(_NAMES)}"
        self.members = (HUB, *members)

    def build(self, undo: ExitStack) -> None:
        """Make the namespaces and links; all of them end with their namespaces."""
        for member in self.members:
            _ip("netns", "add", self._namespace(member))
            undo.callback(_ip, "netns", "delete", self._namespace(member))
            self._ip_in(member, "link", "set", "lo", "up")
        self._ip_in(HUB, "link", "add", "name", "eth0", "type", "bridge")
        for number, member in enumerate(self.members[1:]):
            port = f"port{number}"
            told = ("type", "veth", "peer", "name", "eth0", "netns", self._namespace(member))
            self._ip_in(HUB, "link", "add", "name", port, *told)
            self._ip_in(HUB, "link", "set", port, "master", "eth0", "up")
        for member in self.members:
            self._ip_in(member, "address", "add", f"{self.address(member)}/24", "dev", "eth0")
            self._ip_in(member, "link", "set", "eth0", "up")

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Have the calling thread be the hub meanwhile."""
        before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        inside = os.open(f"/run/netns/{self._namespace(HUB)}", os.O_RDONLY)
        try:
            _set_namespace(inside)
            yield
        finally:
            _set_namespace(before)
            os.close(inside)
            os.close(before)

    def address(self, member: str) -> str:
        """Give the address of a member."""
        return f"10.0.0.{self.members.index(member) + 1}"

    def place(self, member: str) -> Place:
        """Give where the processes of a member run."""
        return Place(self.address(member), ("ip", "netns", "exec", self._namespace(member)))

    def silence(self, ones: Collection[str], others: Collection[str]) -> None:
        """Lose whatever one of `ones` sends to one of `others`."""
        for one, other in product(ones, others):
            if one != other:
                told = (self.address(other), "lladdr", _NOWHERE, "nud", "permanent", "dev", "eth0")
                self._ip_in(one, "neighbour", "replace", *told)

    def cut(self, ones: Collection[str], others: Collection[str]) -> None:
        """Lose whatever is sent between one of `ones` and one of `others`, whoever sends it."""
        self.silence(ones, others)
        self.silence(others, ones)

    def heal(self) -> None:
        """End all cuts."""
        for member in self.members:
            self._ip_in(member, "neighbour", "flush", "dev", "eth0", "nud", "permanent")

    def _namespace(self, member: str) -> str:
        return f"{self.name}-{member}"

    def _ip_in(self, member: str, *arguments: str) -> None:
        _ip("-netns", self._namespace(member), *arguments)


def why_not() -> str | None:
    """Tell why there can be no private network here; None where there can."""
    if os.geteuid() != 0:
        return "only root may make network namespaces"
    if shutil.which("ip") is None:
        return "there is no `ip`: install iproute2"
    try:
        with private_network(["one"]):
            return None
    except subprocess.CalledProcessError as error:
        return f"network namespaces cannot be made: {error.stderr.strip()}"


@contextmanager
def private_network(members: Sequence[str]) -> Iterator[Network]:
    """Give a network that the calling thread is in; it is gone afterwards."""
    network = Network(members)
    with ExitStack() as undo:
        network.build(undo)
        undo.enter_context(network.entered())
        yield network


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


def _set_namespace(file: int) -> None:
    """Move the calling thread."""
    if ctypes.CDLL(None, use_errno=True).setns(file, _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
