"""Settings: which origin wins, and what a bad configuration file says."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dex.cli.settings import Settings, resolve
from dex.wcl.errors import InputError

FILE = """\
context: far
output: csv
contexts:
  near: {output: yaml, data-dir: /near}
  far: {output: ndjson, data-dir: /far, timeout: 5m}
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An environment whose configuration file is FILE."""
    file = tmp_path / "dex" / "config.yaml"
    file.parent.mkdir()
    file.write_text(FILE)
    return {"HOME": "/home/me", "XDG_CONFIG_HOME": str(tmp_path)}


def origin(found: Settings, name: str) -> tuple[Any, str]:
    """Give a setting's value and origin."""
    return found.values[name].value, found.values[name].origin


@pytest.mark.spec("X-01")
def test_flag_then_environment_then_context_then_file_then_default(environ: dict[str, str]) -> None:
    """Taking one origin away after the other, the next one decides (case 24)."""
    every = {**environ, "DEX_OUTPUT": "table", "DEX_CONTEXT": "near"}
    assert origin(resolve({"output": "json"}, every), "output") == ("json", "flag --output")
    assert origin(resolve({}, every), "output") == ("table", "environment DEX_OUTPUT")
    del every["DEX_OUTPUT"]
    assert origin(resolve({}, every), "output") == ("yaml", "context near")
    assert origin(resolve({"context": "far"}, every), "output") == ("ndjson", "context far")
    del every["DEX_CONTEXT"]
    assert origin(resolve({}, every), "output") == ("ndjson", "context far")
    (Path(environ["XDG_CONFIG_HOME"]) / "dex" / "config.yaml").write_text("output: csv\n")
    assert resolve({}, every).values["output"].origin.startswith("file ")
    (Path(environ["XDG_CONFIG_HOME"]) / "dex" / "config.yaml").unlink()
    assert origin(resolve({}, every), "output") == (None, "default")


@pytest.mark.spec("X-01")
@pytest.mark.parametrize(
    ("environ", "data_dir"),
    [
        ({"HOME": "/h", "XDG_DATA_HOME": "/d"}, "/d/dex"),
        ({"HOME": "/h", "XDG_DATA_HOME": "relative"}, "/h/.local/share/dex"),
        ({"HOME": "/h", "DEX_DATA_DIR": "/x"}, "/x"),
        ({"HOME": "/h", "DEX_DATA_DIR": ""}, "/h/.local/share/dex"),
    ],
)
def test_the_data_directory_follows_xdg(environ: dict[str, str], data_dir: str) -> None:
    """Relative and empty values are ignored."""
    assert resolve({}, environ)["data-dir"] == data_dir


@pytest.mark.spec("X-01")
def test_a_missing_home_is_found_another_way() -> None:
    """Without HOME the user's entry in the system decides, and nothing fails (case 23)."""
    assert resolve({}, {})["data-dir"].endswith("/dex")
    assert resolve({}, {"HOME": ""})["data-dir"].endswith("/dex")


@pytest.mark.spec("X-01")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("output: json\ncontxt: a\n", ":2: unknown key 'contxt'; did you mean context?"),
        ("contexts:\n  a: {}\n  b: {}\n  a: {}\n", "'a' comes twice, in lines 2 and 4"),
        ("output: json\noutput: yaml\n", "'output' comes twice, in lines 1 and 2"),
        ("contexts:\n  a:\n    data-dri: /x\n", ":3: unknown key 'data-dri'; did you mean data-dir?"),
        ("contexts: [a]\n", ":1: contexts must be a mapping"),
        ("output: [json]\n", ":1: output must be a single value"),
        ("output: jsno\n", ":1: output: 'jsno' is not an output format; did you mean json?"),
        ("# settings\ntimeout: 5\n", ":2: timeout: '5' is not a duration"),
        ("output: json\n\njournal-max-bytes: many\n", ":3: journal-max-bytes: 'many' is not a number of bytes"),
        ("context: a\ncontexts:\n  a: {output: json,\n      timeout: 5}\n", ":4: timeout: '5' is not a duration"),
        ("contexts: {}\ncontext: a\n", ":2: there is no context 'a'"),
        ("contexts: {production: {}}\ncontext: prduction\n", "did you mean production?"),
        ("a: 'x\n", "this is not YAML"),
    ],
)
def test_a_bad_file_says_where_and_what(tmp_path: Path, text: str, message: str) -> None:
    """Unknown and repeated keys, wrong values and broken YAML are one clear line (case 22)."""
    file = tmp_path / "config.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        resolve({"config": str(file)}, {"HOME": "/h"})
    assert message in str(caught.value)


def test_a_file_that_is_named_must_exist(tmp_path: Path) -> None:
    """`--config` of a missing file is an error, the default place of one is not."""
    with pytest.raises(InputError, match="cannot read"):
        resolve({"config": str(tmp_path / "none.yaml")}, {"HOME": "/h"})
    assert resolve({}, {"HOME": str(tmp_path)})["context"] is None


@pytest.mark.spec("X-01")
def test_a_bad_value_from_a_pipe_is_told_without_a_line(tmp_path: Path) -> None:
    """A pipe cannot be read again, and nobody is kept waiting for it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("timeout: 5\n",))
    writer.start()
    with pytest.raises(InputError, match="pipe: timeout: '5' is not a duration"):
        resolve({"config": str(pipe)}, {"HOME": "/h"})
    writer.join()


@pytest.mark.spec("X-01")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda place: place.mkdir(), "config.yaml is not a file; put a file there"),
        (os.mkfifo, "config.yaml is not a file; put a file there"),
        (lambda place: place.symlink_to(place), "cannot read .*config.yaml: Too many levels of symbolic links"),
        (lambda place: place.symlink_to("nowhere"), "cannot read .*config.yaml: No such file"),
    ],
)
def test_what_is_no_file_in_the_usual_place_is_not_passed_over(
    environ: dict[str, str], make: Callable[[Path], None], message: str
) -> None:
    """Settings that somebody believes to be in force would not be."""
    place = Path(environ["XDG_CONFIG_HOME"]) / "dex" / "config.yaml"
    place.unlink()
    make(place)
    with pytest.raises(InputError, match=message):
        resolve({}, environ)


@pytest.mark.parametrize("text", ["", "# nothing\n", "contexts:\n"])
def test_an_empty_file_sets_nothing(tmp_path: Path, text: str) -> None:
    """A file of comments, or of a key without a value, is fine."""
    file = tmp_path / "config.yaml"
    file.write_text(text)
    assert resolve({"config": str(file)}, {"HOME": "/h"})["output"] is None


@pytest.mark.spec("X-02")
@pytest.mark.parametrize(
    ("flags", "environ", "found"),
    [
        ({"color": "always"}, {"NO_COLOR": "1"}, ("always", "flag --color")),
        ({"color": "auto"}, {"NO_COLOR": "1"}, ("never", "environment NO_COLOR")),
        ({}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, ("never", "environment NO_COLOR")),
        ({}, {"FORCE_COLOR": "1"}, ("always", "environment FORCE_COLOR")),
        ({}, {"FORCE_COLOR": "0"}, ("never", "environment FORCE_COLOR")),
        ({}, {"NO_COLOR": ""}, ("auto", "default")),
    ],
)
def test_colour_is_decided_by_flag_then_no_color_then_force_color(
    flags: dict[str, str], environ: dict[str, str], found: tuple[str, str]
) -> None:
    """The first that says something decides, and an empty variable says nothing (case 21)."""
    assert origin(resolve(flags, {"HOME": "/h", **environ}), "color") == found


@pytest.mark.spec("X-01")
def test_secrets_are_hidden() -> None:
    """A setting marked secret is shown as stars, and its origin as it is (case 24)."""
    rows = resolve({}, {"HOME": "/h", "DEX_TOKEN": "hunter2"}).rows()
    assert {"setting": "token", "value": "***", "origin": "environment DEX_TOKEN"} in rows
    assert "hunter2" not in str(rows)
