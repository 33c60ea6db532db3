"""`dex` with a real terminal: questions before destruction, tables, progress."""

import pexpect
import pytest

from tests.acceptance.conftest import DEX, Dex


def spawn(dex: Dex, *args: str) -> "pexpect.spawn[str]":
    """Run `dex` on a terminal of 24 by 80."""
    return pexpect.spawn(
        str(DEX), list(args), env=dex.environ, cwd=str(dex.home), encoding="utf-8", timeout=20, dimensions=(24, 80)
    )


@pytest.mark.spec("X-07")
@pytest.mark.parametrize(("answer", "code", "stage"), [("y", 0, "dropped"), ("n", 1, "active"), ("", 1, "active")])
def test_a_drop_asks_on_a_terminal(employees: Dex, answer: str, code: int, stage: str) -> None:
    """Only a yes drops; the question names what goes."""
    child = spawn(employees, "store", "drop", "accounts.employees")
    child.expect_exact("Really drop state store accounts.employees? [y/N] ")
    child.sendline(answer)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == code
    assert employees.ok("store", "describe", "accounts.employees").json["stage"] == stage


@pytest.mark.spec("X-02")
def test_a_terminal_gets_tables_and_indented_json(employees: Dex) -> None:
    """The format is table by itself, and JSON is indented where a person reads it."""
    table = spawn(employees, "store", "list")
    table.expect_exact("accounts.employees")
    table.expect(pexpect.EOF)
    assert '"name"' not in str(table.before)
    document = spawn(employees, "store", "list", "-o", "json")
    document.expect_exact('    "name": "accounts.employees"')
    document.expect(pexpect.EOF)


@pytest.mark.spec("X-03")
def test_ctrl_d_at_the_question_is_no(employees: Dex) -> None:
    """An end of input is not consent."""
    child = spawn(employees, "store", "clear", "accounts.employees")
    child.expect_exact("[y/N] ")
    child.sendeof()
    child.expect_exact("nothing was done")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 1
