"""Whole processes: the installed programs of this interpreter, and what they run with."""

import os
import sys
from pathlib import Path


def program(name: str) -> str:
    """Give a program that is installed beside the interpreter."""
    return str(Path(sys.executable).with_name(name))


def environment(data_dir: Path) -> dict[str, str]:
    """Give the variables for a `dex` that sees `data_dir` and no settings of the person who runs this."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DEX_")}
    return {**kept, "DEX_DATA_DIR": str(data_dir), "XDG_CONFIG_HOME": str(data_dir / "config")}
