"""`dex` inside this process, with a home, configuration and data of its own."""

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dex.cli.main import answer
from tests.acceptance.conftest import Dex, Done
from tests.cli.flow.definitions import TRIP
from tests.directories import fast_directory


class InsideDex(Dex):
    """Runs command lines here; what needs a process of its own uses `start`."""

    def __call__(self, *args: str | bytes, input: bytes | str = b"", env: dict[str, str] | None = None) -> Done:
        """Run to the end; no run may show a traceback."""
        streams = [io.TextIOWrapper(io.BytesIO(data)) for data in (_bytes(input), b"", b"")]
        with self._surroundings(env or {}):
            before = sys.stdin, sys.stdout, sys.stderr
            sys.stdin, sys.stdout, sys.stderr = streams
            try:
                code = answer([os.fsdecode(arg) for arg in args])
            finally:
                sys.stdin, sys.stdout, sys.stderr = before
        out, err = (_written(stream) for stream in streams[1:])
        assert b"Traceback" not in err
        return Done(code, out, err.decode())

    @contextlib.contextmanager
    def _surroundings(self, env: dict[str, str]) -> Iterator[None]:
        """Work in the home with its environment and nothing of this process's own."""
        with pytest.MonkeyPatch.context() as patch, contextlib.chdir(self.home):
            for name in [name for name in os.environ if name.startswith(("DEX_", "XDG_"))]:
                patch.delenv(name)
            for name, value in {**self.environ, **env}.items():
                patch.setenv(name, value)
            yield


def _bytes(text: bytes | str) -> bytes:
    return text.encode() if isinstance(text, str) else text


def _written(stream: io.TextIOWrapper) -> bytes:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue()


@pytest.fixture
def dex() -> Iterator[InsideDex]:
    with fast_directory() as home:
        yield InsideDex(home)


@pytest.fixture
def trip(dex: Dex) -> Dex:
    """`dex` that knows TripFlow, with the run `t1` of it."""
    learn_trip(dex)
    dex.ok("flow", "start", "TripFlow", "t1", "--input", '{"tripId": "x", "days": 3}')
    return dex


def learn_trip(dex: Dex) -> Path:
    """Write the file that defines TripFlow, and name it in the environment."""
    path = dex.home / "trip.py"
    path.write_text(TRIP)
    dex.environ["DEX_FLOWS"] = "trip.py"
    return path


def run_id(dex: Dex, flow_id: str = "t1") -> str:
    """Give the latest run of a Flow."""
    return str(dex.ok("flow", "describe", flow_id).json["run_id"])
