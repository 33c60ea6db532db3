"""The checklist and the tests belong together: each row has a test, each mark has a row."""

import re
from pathlib import Path

TESTS = Path(__file__).parent

_ROW = re.compile(r"^- ([A-Z]{1,2}-\d{2})", re.MULTILINE)
_MARK = re.compile(r"\bspec\(([^)]*)\)")
_ID = re.compile(r"[A-Z]{1,2}-\d{2}")


def rows() -> set[str]:
    return set(_ROW.findall((TESTS / "checklist.md").read_text(encoding="utf-8")))


def named() -> set[str]:
    texts = (path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py") if path != Path(__file__))
    return {name for text in texts for mark in _MARK.findall(text) for name in _ID.findall(mark)}


def test_every_row_is_named_by_a_test() -> None:
    assert rows() - named() == set()


def test_every_mark_names_a_row() -> None:
    assert named() - rows() == set()
