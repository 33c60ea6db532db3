"""Where tests keep their files: in memory where the machine has that, because each commit waits for the disk."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

_MEMORY = Path("/dev/shm")  # a folder of its own is made in it


@contextmanager
def fast_directory() -> Iterator[Path]:
    """Give an empty folder that is gone afterwards."""
    parent = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    with TemporaryDirectory(dir=parent, prefix="dex-test-") as name:
        yield Path(name)
