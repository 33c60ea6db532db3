"""A node of `dex cluster dev`: one `dex serve`, which is started again where it ends, and how it ended in words."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from dex.cli.session import Session
from dex.wcl.errors import Unavailable

_START_SECONDS = 90.0
_LOOK_SECONDS = 0.2
# How often one that does not come up is started again.
_TRIES = 3
_DEX = "import sys; from dex.cli.main import main; sys.exit(main())"
_BAD = ("warning", "error")
_OPTIONS = ("flows", "sync-config", "context", "config")


class DevNode:
    """One node; `url` stays the same when it is started again, and `is_lost` tells that it is not any more."""

    def __init__(self, name: str, folder: Path, group: int, session: Session, servers: Sequence[str]) -> None:
        self.name = name
        self._data_dir = folder / name
        self._log = folder / f"{name}.log"
        self._group = group
        self._session = session
        self._servers = servers
        self._log_begin = 0
        self._is_up = False
        self._tries = 0
        self.url = ""
        self.is_lost = False
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start; it is ready a little later."""
        flags = self._session.flags
        options = [f"--{name}={flags[name]}" for name in _OPTIONS if flags.get(name)]
        port = self.url.rpartition(":")[2] or "0"
        with self._log.open("ab") as log:
            self._log_begin = log.tell()
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-c", _DEX, "serve", "--port", port, "--node", self.name),
                    *(f"--data-dir={self._data_dir}", *options),
                ],
                env={**os.environ, "DEX_CLUSTER": ",".join(self._servers)},
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
            ended = self._ended()
            if ended is not None:
                raise Unavailable(f"{self.name} does not come up: it {ended}", "")
            if self._look_for_url():
                return self.url
            time.sleep(_LOOK_SECONDS)
        raise Unavailable(f"{self.name} does not come up within {_START_SECONDS:g} s", "")

    def look(self) -> None:
        """Start it again where it has ended, and tell of that."""
        ended = self._ended()
        if ended is None:
            if not self._is_up and self._look_for_url():
                self._session.tell(f"{self.name} serves again at {self.url}, as process {self.pid}")
            return
        if self._tries == _TRIES:
            if not self.is_lost:
                self.is_lost = True
                self._session.tell(f"{self.name} does not come up again: it {ended}; its log is {self._log}")
            return
        self._session.tell(f"{self.name} {ended}; starting it again")
        self._is_up = False
        self._tries += 1
        self.start()

    def warnings(self) -> list[str]:
        """Give what it has warned of since it was started, such as Flows that it cannot load."""
        told = (json.loads(line) for line in self._lines() if line.startswith("{"))
        return [str(each["message"]) for each in told if each.get("level") in _BAD]

    @property
    def pid(self) -> int:
        """Its process id, 0 before it is started."""
        return 0 if self.process is None else self.process.pid

    def _look_for_url(self) -> bool:
        for line in self._lines():
            if line.startswith("{") and "url" in (told := json.loads(line)):
                self.url = str(told["url"])
                self._is_up = True
                self._tries = 0
                return True
        return False

    def _ended(self) -> str | None:
        """Tell how it has ended; None while it runs."""
        code = None if self.process is None else self.process.poll()
        if code is None:
            return None
        said = _last_words(self._lines()) if code > 0 else ""
        return f"{how_it_ended(code)}{said and f': {said}'}"

    def _lines(self) -> list[str]:
        """Give what it has said since it was started last."""
        with self._log.open("rb") as log:
            log.seek(self._log_begin)
            return log.read().decode("utf-8", "replace").rpartition("\n")[0].splitlines()


def how_it_ended(code: int) -> str:
    """Say how a process ended, by its exit code or the signal that is negative there."""
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"has ended with exit code {code}"


def _last_words(lines: Sequence[str]) -> str:
    """Give the error that a process ended with, as a person would be told it."""
    for line in reversed(lines):
        if line.startswith("error: "):
            return line.removeprefix("error: ")
        if line.startswith("{"):
            told = json.loads(line)
            if told.get("level") in _BAD:
                return str(told["message"])
    return ""
