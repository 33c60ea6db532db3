"""`dex` with a real terminal: questions before destruction, tables, progress."""

import pexpect
import pyte
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
    child.expect_exact("DROP STATESTORE accounts.employees destroys its 0 rows. Go on? [y/N] ")
    child.sendline(answer)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == code
    assert "error" not in str(child.before)
    assert ("nothing was done" in str(child.before)) == (code == 1)
    assert employees.ok("store", "describe", "accounts.employees").json["stage"] == stage


@pytest.mark.spec("X-07", "X-03")
@pytest.mark.parametrize(
    "args",
    [
        ("store", "drop", "accounts.employes"),
        ("store", "clear", "accounts.employes"),
        ("wcl", "DROP STATESTORE accounts.employes"),
        ("feed", "drop", "nosuch"),
        ("flow", "stop", "nosuch", "--run-id", "r"),
    ],
    ids=lambda args: " ".join(args[:2]),
)
def test_nobody_is_asked_about_what_is_not_there(employees: Dex, args: tuple[str, ...]) -> None:
    """The name is looked up before the question."""
    child = spawn(employees, *args)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 1
    assert "[y/N]" not in str(child.before)
    assert "error:" in str(child.before)


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


@pytest.mark.spec("X-04")
@pytest.mark.parametrize("piped", [False, True], ids=["terminal", "pipe"])
def test_no_bar_stands_between_records(dex: Dex, piped: bool) -> None:
    """On a terminal each record begins its line; with results elsewhere the bar is gone at the end."""
    (dex.home / "s.wcl").write_text("DEFINE FEED f;\n" * 200)
    command = f"{DEX} batch s.wcl" + (" -o ndjson >out" if piped else "")
    child = pexpect.spawn(
        "/bin/sh",
        ["-c", command],
        env=dex.environ,
        cwd=str(dex.home),
        encoding="utf-8",
        dimensions=(24, 80),
        timeout=20,
    )
    child.expect(pexpect.EOF)
    screen = pyte.HistoryScreen(80, 24, history=1000)
    pyte.Stream(screen).feed(str(child.before))
    scrolled = ["".join(line[column].data for column in range(80)).rstrip() for line in screen.history.top]
    lines = [line for line in [*scrolled, *(line.rstrip() for line in screen.display)] if line]
    records = [] if piped else [f"s.wcl:{n}:1  {'created' if n == 1 else 'unchanged'}" for n in range(1, 201)]
    assert lines == [*records, "200 statements: 200 ok, 0 failed"]


@pytest.mark.spec("X-02")
def test_tables_on_a_terminal_say_how_many_rows_there_are(employees: Dex) -> None:
    """None, one or many; quiet leaves it out."""
    child = spawn(employees, "store", "get-by", "accounts.employees", "department", "eng")
    child.expect_exact("(0 rows)")
    child.expect(pexpect.EOF)
    for args, count in (
        (("store", "iterate", "accounts.employees"), "(0 rows)"),
        (("context", "list"), "(0 rows)"),
        (("store", "list"), "(1 row)"),
    ):
        child = spawn(employees, *args)
        child.expect_exact(count)
        child.expect(pexpect.EOF)
    quiet = spawn(employees, "store", "list", "-q")
    quiet.expect(pexpect.EOF)
    assert "row)" not in str(quiet.before)


@pytest.mark.spec("X-04")
def test_a_batch_that_reads_the_terminal_says_so(dex: Dex) -> None:
    """Nobody waits without knowing for what."""
    child = spawn(dex, "batch")
    child.expect_exact("reading statements from standard input; Ctrl-D ends them")
    child.sendline("SHOW FEEDS;")
    child.sendeof()
    child.expect_exact("1 statement: 1 ok, 0 failed")
    child.expect(pexpect.EOF)


@pytest.mark.spec("X-02")
def test_a_long_cell_goes_on_in_its_column(employees: Dex) -> None:
    """On a terminal the columns stay, and nothing of a value is lost."""
    employees.ok("store", "put", "accounts.employees", "u1", "x" * 150, "--named", "department=eng")
    child = spawn(employees, "store", "iterate", "accounts.employees", "--color", "never")
    child.expect(pexpect.EOF)
    lines = str(child.before).splitlines()
    assert max(map(len, lines)) <= 80
    start = lines[0].index("payload")
    assert "".join(line[start:].split("  ")[0] for line in lines if "x" in line[start:]) == "x" * 150
