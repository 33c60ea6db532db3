"""A real Chromium without a window, driven through a pipe by its own DevTools protocol."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

_CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
needs_chromium = pytest.mark.skipif(_CHROMIUM is None, reason="no chromium: apt install chromium")
_FLAGS = ("--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")
# The shell gives the pipes the numbers that Chromium expects; above nine they are in nobody's way before that.
_WITH_PIPES = 'exec "${@:3}" 3<&"$1" 4>&"$2"'


class Browser:
    """The browser: sends it commands and gives what they return; `problems` is what its console says is wrong."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands = os.fdopen(commands, "wb", buffering=0)
        self._answers = os.fdopen(answers, "rb")
        self._number = 0
        self._session: str | None = None
        self._events: list[str] = []
        self.problems: list[str] = []

    def open_tab(self) -> None:
        """Open a tab, which all that follows is about, and forget the one before."""
        target = self.do("Target.createTarget", url="about:blank", session=False)["targetId"]
        attached = self.do("Target.attachToTarget", targetId=target, flatten=True, session=False)
        self._session, self.problems = attached["sessionId"], []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.do(f"{domain}.enable")

    def do(self, method: str, *, session: bool = True, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = self._session
        self._commands.write(json.dumps(message).encode() + b"\0")
        number = self._number
        return self._until(lambda answer: answer.get("id") == number).get("result", {})

    def look(self, *, width: int = 1200, height: int = 900, scheme: str = "light", scripts: bool = True) -> None:
        """Choose how pages are shown from now on."""
        self.do(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.do("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.do("Emulation.setScriptExecutionDisabled", value=not scripts)

    def visit(self, url: str, headers: dict[str, str] | None = None) -> None:
        """Open a page and wait until all of it is there."""
        self.do("Network.setExtraHTTPHeaders", headers=headers or {})
        self._events.clear()
        self.do("Page.navigate", url=url)
        if "Page.loadEventFired" not in self._events:
            self._until(lambda answer: answer.get("method") == "Page.loadEventFired")

    def evaluate(self, expression: str) -> Any:
        """Give the value of an expression in the page; a promise is waited for."""
        result = self.do("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def screenshot(self, path: Path) -> None:
        """Write a picture of the whole page."""
        size = self.do("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        taken = self.do("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(taken["data"]))

    def _until(self, is_it: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        while True:
            message = self._receive()
            self._notice(message)
            if is_it(message):
                return message

    def _receive(self) -> dict[str, Any]:
        data = bytearray()
        while (byte := self._answers.read(1)) != b"\0":
            assert byte, "chromium has ended"
            data += byte
        found: dict[str, Any] = json.loads(data)
        return found

    def _notice(self, message: dict[str, Any]) -> None:
        method, told = message.get("method", ""), message.get("params", {})
        self._events.append(method)
        if method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.problems.append(told["entry"]["text"])
        elif method == "Runtime.exceptionThrown" or (method == "Runtime.consoleAPICalled" and told["type"] == "error"):
            self.problems.append(json.dumps(told))


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """Run a browser with its profile in a folder."""
    assert _CHROMIUM is not None
    (theirs, commands), (answers, their_answers) = _pipe(), _pipe()
    browser = [_CHROMIUM, *_FLAGS, f"--user-data-dir={profile}", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    process = subprocess.Popen(
        ["bash", "-c", _WITH_PIPES, "bash", str(theirs), str(their_answers), *browser],
        pass_fds=(theirs, their_answers),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"HOME": str(profile), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"},
    )
    os.close(theirs)
    os.close(their_answers)
    driven = Browser(commands, answers)
    try:
        yield driven
    finally:
        with suppress(BrokenPipeError, AssertionError):
            driven.do("Browser.close", session=False)
        process.wait()
        driven._commands.close()
        driven._answers.close()


def _pipe() -> tuple[int, int]:
    """Make a pipe, both ends with numbers above nine."""
    ends = os.pipe()
    above = fcntl.fcntl(ends[0], fcntl.F_DUPFD_CLOEXEC, 10), fcntl.fcntl(ends[1], fcntl.F_DUPFD_CLOEXEC, 10)
    for end in ends:
        os.close(end)
    return above
