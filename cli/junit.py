"""JUnit XML for continuous integration (spec: X-04, X-05)."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

from dex.wcl.errors import InputError

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Case(NamedTuple):
    """One test case; `failure` says what went wrong, or is None. One that is `skipped` was not run."""

    group: str
    name: str
    seconds: float
    failure: str | None = None
    skipped: bool = False


def report_path(option: str | None) -> Path | None:
    """Read `--report junit:FILE`, and make sure of the file before anything runs that it is to tell of.

    Raises:
        InputError: it has another form, or the file cannot be written.
    """
    if option is None:
        return None
    kind, _, file = option.partition(":")
    if kind != "junit" or not file:
        raise InputError(f"{option!r} is not a report", "write --report junit:FILE")
    path = Path(file)
    try:
        if path.is_file() or path.is_dir() or not path.exists():
            path.open("ab").close()
    except OSError as error:
        raise InputError(f"the report {file} cannot be written: {error.strerror}", "name another file") from error
    return path


def write_junit(path: Path, suite: str, cases: Iterable[Case]) -> None:
    """Write a report, with how many cases there are, how many failed and how many were not run."""
    listed = list(cases)
    root = ET.Element("testsuites")
    element = ET.SubElement(
        root,
        "testsuite",
        name=suite,
        tests=str(len(listed)),
        failures=str(sum(case.failure is not None for case in listed)),
        errors="0",
        skipped=str(sum(case.skipped for case in listed)),
        time=f"{sum(case.seconds for case in listed):.3f}",
    )
    for case in listed:
        entry = ET.SubElement(
            element, "testcase", classname=_clean(case.group), name=_clean(case.name), time=f"{case.seconds:.3f}"
        )
        if case.failure is not None:
            ET.SubElement(entry, "failure", message=_clean(case.failure)).text = _clean(case.failure)
        if case.skipped:
            ET.SubElement(entry, "skipped")
    ET.indent(root)
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _clean(text: str) -> str:
    """Replace what XML cannot hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
