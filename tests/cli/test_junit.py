"""Reports for CI."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from dex.cli.junit import Case, report_path, write_junit
from dex.wcl.errors import InputError


@pytest.mark.spec("X-04", "X-05")
def test_a_report_counts_cases_and_failures(tmp_path: Path) -> None:
    """CI reads how many there are, which failed and why, which were not run; characters that XML lacks are replaced."""
    file = tmp_path / "out.xml"
    write_junit(
        file,
        "suite",
        [Case("g", "good", 0.5), Case("g", "bad", 0.25, "no \x00 <store>"), Case("g", "c", 0, skipped=True)],
    )
    suite = ET.parse(file).getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("time")) == ("3", "1", "0.750")
    assert (suite.get("skipped"), [child.tag for child in suite[2]]) == ("1", ["skipped"])
    failure = suite[1][0]
    assert failure.get("message") == failure.text == "no \ufffd <store>"


@pytest.mark.parametrize("option", ["out.xml", "junit", "junit:", "tap:out"])
def test_another_form_of_report_is_refused(option: str) -> None:
    """`--report` says how it is written."""
    with pytest.raises(InputError, match="junit:FILE"):
        report_path(option)
