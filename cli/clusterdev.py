"""`dex cluster dev`: three journal servers and three nodes on loopback, all gone when it ends, however it ends."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType

from dex.cli.session import Session
from dex.engine.cluster.servers import JournalServers
from dex.wcl.errors import DexError, Unavailable

_NODES = 3
_START_SECONDS = 90.0
_STOP_SECONDS = 30.0
_LOOK_SECONDS = 0.2
_TOLD_LINES = 5
_DEX = "import sys; from dex.cli.main import main; sys.exit(main())"
_OPTIONS = ("flows", "sync-config", "context", "config")


class _Stopped(BaseException):
    """SIGTERM came."""


def run_cluster(session: Session) -> None:
    """Run a cluster until Ctrl-C or SIGTERM, and tell where it is.

    Raises:
        DexError: a part of it does not start, or ends by itself.
        KeyboardInterrupt: it was Ctrl-C.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(_stopped_by_sigterm())
            folder = stack.enter_context(_folder(session))
            group = stack.enter_context(_group())
            servers = JournalServers(folder / "journal", group)
            stack.callback(servers.stop)
            session.note("starting three journal servers and three nodes")
            servers.start()
            nodes = [_Node(f"node-{number}", folder, group) for number in range(1, _NODES + 1)]
            stack.callback(_stop, nodes)
            for node in nodes:
                node.start(session, servers.urls)
            endpoint = ",".join(node.wait_until_ready() for node in nodes)
            session.out.result({"endpoint": endpoint, "data_dir": str(folder)})
            session.out.flush()
            session.note(f"try: dex cluster status --endpoint {endpoint}")
            while True:
                time.sleep(_LOOK_SECONDS)
                for node in nodes:
                    node.check()
        except _Stopped:
            return


class _Node:
    """One `dex serve` of the cluster."""

    def __init__(self, name: str, folder: Path, group: int) -> None:
        self.name = name
        self._data_dir = folder / name
        self._log = folder / f"{name}.log"
        self._group = group
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, session: Session, servers: Sequence[str]) -> None:
        """Start; it is ready a little later."""
        options = [f"--{name}={session.flags[name]}" for name in _OPTIONS if session.flags.get(name)]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-c", _DEX, "serve", "--port", "0", "--node", self.name),
                    *(f"--data-dir={self._data_dir}", *options),
                ],
                env={**os.environ, "DEX_CLUSTER": ",".join(servers)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=self._group,
            )

    def wait_until_ready(self) -> str:
        """Wait until it serves, and give its URL.

        Raises:
            Unavailable: it does not come up.
        """
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            self.check()
            for line in self._lines():
                if line.startswith("{") and "url" in (told := json.loads(line)):
                    return str(told["url"])
            time.sleep(_LOOK_SECONDS)
        raise self._failed("does not come up")

    def check(self) -> None:
        """Look whether it runs.

        Raises:
            Unavailable: with the end of its log.
        """
        if self.process is not None and self.process.poll() is not None:
            raise self._failed("has ended")

    def _failed(self, what: str) -> DexError:
        return Unavailable(f"{self.name} {what}: {' '.join(self._lines()[-_TOLD_LINES:])}", "")

    def _lines(self) -> list[str]:
        return self._log.read_text(encoding="utf-8", errors="replace").rpartition("\n")[0].splitlines()


def _stop(nodes: Sequence[_Node]) -> None:
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
    """
    chosen = session.flags.get("data-dir")
    if chosen is None:
        with tempfile.TemporaryDirectory(prefix="dex-cluster-") as temporary:
            yield Path(temporary)
        return
    folder = Path(chosen).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "cluster.lock").open("wb") as lock:
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
def _stopped_by_sigterm() -> Iterator[None]:
    """Let SIGTERM raise meanwhile."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise _Stopped

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
