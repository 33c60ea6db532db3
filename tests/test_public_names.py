"""The public SDK: what `import dex` promises."""

import subprocess
import sys
from importlib import import_module

import dex


def test_every_public_name_can_be_imported() -> None:
    assert [name for name in dex.__all__ if not hasattr(dex, name)] == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(dex, "NoSuchName")


def test_importing_dex_imports_nothing_else() -> None:
    heavy = "lark, msgspec, sqlite3, typer, rich, prompt_toolkit, yaml, sqlite_utils"
    code = f"import dex, sys; print([m for m in '{heavy}'.split(', ') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_folders_are_one_package() -> None:
    """The links below dex/ resolve to the modules beside it, once."""
    assert import_module("dex.wcl.errors").DexError is dex.DexError
    assert "wcl" not in sys.modules
