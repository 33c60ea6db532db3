"""Flows from files and modules."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dex import Flow, FlowDefinitionError, Registry
from tests.engine.flows.definitions.directory import Directory
from tests.engine.flows.definitions.orders import OrderFlow

GOOD = """\
from dataclasses import dataclass
from dex import Attribute, Flow, PersistenceSchema, RPCResult, rpc
from dex import Flow as Base

@dataclass
class Note:
    text: str

class {name}(Flow[Note]):
    note = Attribute("Note", Note)

    def get_persistence_schema(self):
        return PersistenceSchema.of(self.note)

    @rpc
    def read(self, context) -> RPCResult[Note]:
        return RPCResult(self.note.get(context))
"""


@pytest.fixture(autouse=True)
def _own_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget what a test imports, and let modules be found in its folder."""
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.spec("FL-17")
def test_the_flows_of_a_file_are_registered(tmp_path: Path) -> None:
    registry = Registry()
    source = write(tmp_path / "my-flows.py", GOOD.format(name="Notes") + GOOD.format(name="Diary"))
    assert [flow.name for flow in registry.load(source)] == ["Notes", "Diary"]
    assert registry.get("Notes").rpc("read").definition.output_type.__name__ == "Note"
    assert registry.problems == []


@pytest.mark.spec("FL-17")
def test_annotations_may_be_text_and_name_the_context_for_type_checking_only(tmp_path: Path) -> None:
    head = "from __future__ import annotations\nfrom typing import TYPE_CHECKING\n"
    typed = GOOD.format(name="Notes").replace("read(self, context)", "read(self, context: Context, note: Note)")
    only_checked = "if TYPE_CHECKING:\n    from dex import Context\n"
    registry = Registry()
    registry.load(write(tmp_path / "flows.py", head + only_checked + typed))
    assert registry.problems == []
    assert registry.get("Notes").rpc("read").definition.input_type.__name__ == "Note"


@pytest.mark.spec("FL-17")
def test_a_file_may_import_its_neighbours(tmp_path: Path) -> None:
    write(tmp_path / "neighbour_notes.py", GOOD.format(name="Notes"))
    registry = Registry()
    registry.load(write(tmp_path / "flows.py", "from neighbour_notes import Notes\nclass Mine(Notes): pass\n"))
    assert set(registry.types) == {"Mine"}


@pytest.mark.spec("FL-17")
@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("flows_here", {"Notes", "Diary"}),
        ("flows_here:Notes", {"Notes"}),
        ("flows_here:EVERY", {"Diary", "Notes"}),
        ("flows_here:ONE", {"Diary"}),
    ],
)
def test_a_module_or_one_of_its_attributes_is_registered(tmp_path: Path, source: str, names: set[str]) -> None:
    text = GOOD.format(name="Notes") + GOOD.format(name="Diary") + "EVERY = [Diary, Notes]\nONE = Diary()\n"
    write(tmp_path / "flows_here.py", text)
    registry = Registry()
    assert {flow.name for flow in registry.load(source)} == names
    assert registry.problems == []


@pytest.mark.spec("FL-17")
def test_two_files_of_one_name_are_two_sources(tmp_path: Path) -> None:
    registry = Registry()
    for name in ("One", "Two"):
        folder = tmp_path / name
        folder.mkdir()
        registry.load(write(folder / "flows.py", GOOD.format(name=name)))
    assert set(registry.types) == {"One", "Two"}


@pytest.mark.spec("FL-17")
@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("import dex\nimport no_such_module\n", 2, "No module named 'no_such_module'"),
        ("x = 1\n\ndef f(:\n", 3, "invalid syntax"),
        ("def f():\n    return 1 / 0\n\nf()\n", 2, "ZeroDivisionError"),
        ("from dex import Attribute\n\nA = Attribute('a/b', int)\n", 3, "has a slash"),
        ("import json\n\njson.loads('{')\n", 3, "JSONDecodeError"),
        ("raise SystemExit(3)\n", 1, "SystemExit"),
    ],
)
def test_a_file_that_does_not_import_names_file_and_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    registry = Registry()
    source = write(tmp_path / "broken.py", text)
    assert registry.load(source) == []
    (problem,) = registry.problems
    assert (problem.file, problem.line) == (source, line)
    assert str(problem).startswith(f"{source}, line {line}: ")
    assert message in str(problem)


@pytest.mark.spec("FL-17")
def test_a_broken_source_does_not_take_the_others_down(tmp_path: Path) -> None:
    registry = Registry()
    registry.register(OrderFlow)
    registry.load(write(tmp_path / "broken.py", "1 / 0\n"))
    registry.load(write(tmp_path / "good.py", GOOD.format(name="Notes")))
    assert set(registry.types) == {"OrderFlow", "Notes"}
    with pytest.raises(FlowDefinitionError, match=r"there is no Flow type Other; .*broken\.py, line 1"):
        registry.get("Other")


@pytest.mark.spec("FL-17")
def test_a_broken_flow_does_not_take_the_others_of_its_file_down(tmp_path: Path) -> None:
    broken = "class Bad(Flow[None]):\n    def get_steps(self):\n        return 1 / 0\n"
    registry = Registry()
    source = write(tmp_path / "flows.py", GOOD.format(name="Notes") + broken)
    assert [flow.name for flow in registry.load(source)] == ["Notes"]
    (problem,) = registry.problems
    assert problem.file == source
    assert "ZeroDivisionError" in str(problem)


@pytest.mark.spec("FL-17")
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere.py", "there is no file"),
        ("no_such_module_here", "there is no module no_such_module_here"),
        ("json:loads", "is no Flow"),
        ("json:load_s", "did you mean loads?"),
        ("json", "json defines no Flow"),
        ("./", "is no file"),
    ],
)
def test_a_source_without_flows_is_a_problem(source: str, message: str) -> None:
    registry = Registry()
    assert registry.load(source) == []
    assert message in str(registry.problems[0])


@pytest.mark.spec("FL-17")
def test_two_flows_of_one_type_are_refused() -> None:
    class Other(Flow[None]):
        def get_flow_type(self) -> str:
            return "Directory"

    registry = Registry()
    registry.register(Directory)
    registry.register(Directory)
    registry.register(Directory())
    with pytest.raises(FlowDefinitionError, match="two Flows have the type Directory"):
        registry.register(Other)


def test_an_unknown_type_is_told_the_nearest() -> None:
    registry = Registry()
    registry.register(Directory)
    with pytest.raises(FlowDefinitionError, match=r"there is no Flow type directori; did you mean Directory\?"):
        registry.get("directori")


@pytest.mark.spec("FL-17")
def test_a_type_that_is_not_known_is_made_known_by_file_or_by_program() -> None:
    with pytest.raises(FlowDefinitionError, match=r"--flows; a program passes the Flow to client\.register"):
        Registry().get("Nowhere")
