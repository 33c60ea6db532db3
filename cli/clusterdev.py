"""`dex cluster dev`: three journal servers and three nodes on loopback, all gone when it ends, however it ends."""

import fcntl
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType

from dex.cli.devnode import DevNode, how_it_ended
from dex.cli.session import Session
from dex.engine.cluster.servers import JournalServers, is_healthy
from dex.engine.directories import TRIED_FILE
from dex.wcl.errors import Refused, Unavailable

_NODES = 3
_STOP_SECONDS = 30.0
_LOOK_SECONDS = 0.2


class _Stopped(BaseException):
    """SIGTERM or SIGHUP came."""


def run_cluster(session: Session) -> None:
    """Run a cluster until Ctrl-C, SIGTERM or SIGHUP, and tell where it is.

    Raises:
        DexError: a part of it does not start, or no node comes up any more.
        KeyboardInterrupt: it was Ctrl-C.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(_stopped_by_signals())
            folder = stack.enter_context(_folder(session))
            group = stack.enter_context(_group())
            servers = JournalServers(folder / "journal", group)
            stack.callback(servers.stop)
            session.note("starting three journal servers and three nodes")
            servers.start()
            names = [f"node-{number}" for number in range(1, _NODES + 1)]
            nodes = [DevNode(name, folder, group, session, servers.urls) for name in names]
            stack.callback(_stop, nodes)
            for node in nodes:
                node.start()
            endpoint = ",".join(node.wait_until_ready() for node in nodes)
            for told in dict.fromkeys(message for node in nodes for message in node.warnings()):
                session.tell(f"warning: {told}")
            session.out.result({"endpoint": endpoint, "data_dir": str(folder)})
            session.out.flush()
            session.note(f"try: dex cluster status --endpoint {endpoint}")
            parts = [*((node.name, node.pid) for node in nodes), *((each.name, each.pid) for each in servers.servers)]
            processes = ", ".join(f"{name} is process {pid}" for name, pid in parts)
            session.note(f"end one to see the others go on, it is started again: {processes}")
            _watch(session, servers, nodes)
        except _Stopped:
            return


def _watch(session: Session, servers: JournalServers, nodes: Sequence[DevNode]) -> None:
    """Start again whatever ends, for ever: who tries a cluster out ends a part of it on purpose.

    Raises:
        Unavailable: no node comes up any more.
    """
    coming: set[str] = set()
    while True:
        time.sleep(_LOOK_SECONDS)
        for server in servers.servers:
            code = None if server.process is None else server.process.poll()
            if code is not None:
                session.tell(f"{server.name} {how_it_ended(code)}; starting it again")
                server.start()
                coming.add(server.name)
            elif server.name in coming and is_healthy(server):
                coming.discard(server.name)
                session.tell(f"{server.name} serves again, as process {server.pid}")
        for node in nodes:
            node.look()
        if all(node.is_lost for node in nodes):
            raise Unavailable("no node comes up any more", "")


def _stop(nodes: Sequence[DevNode]) -> None:
    running = [node.process for node in nodes if node.process is not None]
    for process in running:
        process.terminate()
    deadline = time.monotonic() + _STOP_SECONDS
    for process in running:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def _folder(session: Session) -> Iterator[Path]:
    """Give the directory of all files, which no other such cluster uses.

    Raises:
        Unavailable: another one does.
        Refused: it has files of something else, or cannot be made.
    """
    chosen = session.flags.get("data-dir")
    if chosen is None:
        with tempfile.TemporaryDirectory(prefix="dex-cluster-") as temporary:
            yield Path(temporary)
        return
    folder = Path(chosen).absolute()
    lock_path = folder / TRIED_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_foreign = not lock_path.exists() and any(folder.iterdir())
    except OSError as error:
        raise Refused(f"{folder} cannot be used: {error.strerror}", "choose another --data-dir") from error
    if is_foreign:
        raise Refused(
            f"{folder} has files that are not of `dex cluster dev`",
            "choose an empty or a new --data-dir, or leave it out",
        )
    with lock_path.open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise Unavailable(f"another cluster runs in {folder}", "stop it, or choose another --data-dir") from error
        yield folder


@contextmanager
def _group() -> Iterator[int]:
    """Give a process group whose members are killed when this process has ended, even by SIGKILL.

    Its leader reads a pipe that only this process holds the other end of.
    """
    reading, writing = os.pipe()
    leader = subprocess.Popen(
        ["/bin/sh", "-c", "trap '' TERM INT HUP; read -r _; kill -KILL 0"], stdin=reading, process_group=0
    )
    os.close(reading)
    try:
        yield leader.pid
    finally:
        os.close(writing)
        leader.wait()


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Let SIGTERM raise meanwhile, and SIGHUP, of a terminal that is closed, unless whoever started this ignores it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise _Stopped

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
