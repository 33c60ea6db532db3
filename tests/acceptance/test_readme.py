"""The README's tour: every command in it runs, in order, and ends as the README says."""

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def tour() -> list[tuple[str, int]]:
    """Give the commands of the tour with the exit code that each is to have."""
    lines = [line[2:] for block in blocks("console") for line in block.splitlines() if line.startswith("$ ")]
    expected = [re.search(r"# exit (\d+)$", line) for line in lines]
    return [(line, int(match[1]) if match else 0) for line, match in zip(lines, expected, strict=True)]


@pytest.mark.spec("W-01", "W-02", "S-06", "S-07", "F-02", "X-04", "X-05")
def test_every_command_of_the_tour_runs_as_it_says(tmp_path: Path) -> None:
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "DEX_DATA_DIR": str(tmp_path / "data"),
        "HOME": str(tmp_path),
    }
    commands = tour()
    assert len(commands) > 15
    for command, code in commands:
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, f"{command}\n{done.stdout}{done.stderr}"


@pytest.mark.spec("S-15", "W-09", "FL-03", "FL-05", "FL-10")
@pytest.mark.parametrize("block", blocks("python"), ids=lambda block: block.splitlines()[0])
def test_the_python_of_the_readme_prints_what_it_says(tmp_path: Path, block: str) -> None:
    done = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == re.findall(r"print\(.*\)  # (.*)", block)


def section(title: str, language: str) -> list[str]:
    """Give the blocks of a language in a section."""
    text = README.partition(f"## {title}")[2].partition("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def service(language: str) -> str:
    """Give the block of a language in the section about running it as a service."""
    (block,) = section("Running it as a service", language)
    return block


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.spec("K-01", "K-02")
def test_the_server_of_the_readme_runs(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as place:
        port = place.getsockname()[1]
    script = service("sh").replace("dex serve", f"dex serve --port {port}").replace("7171", str(port))
    environ = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(
        ["bash", "-euc", script], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr + (tmp_path / "serve.log").read_text()
    assert '"ready":true' in done.stdout
    assert '"accounts.events"' in done.stdout
    assert 'dex_http_request_seconds_count{method="GET",route="/v1/feeds",status="200"} 1.0' in done.stdout


@pytest.mark.spec("K-01")
def test_the_unit_of_the_readme_starts_what_there_is(tmp_path: Path) -> None:
    (start,) = re.findall(r"^ExecStart=\S*/dex (.*)$", service("ini"), re.MULTILINE)
    here = start.replace("/var/lib/dex", str(tmp_path)).replace("/etc/dex", str(tmp_path))
    done = subprocess.run(
        [Path(sys.executable).with_name("dex"), *here.split()], capture_output=True, text=True, check=False, timeout=60
    )
    assert f"cannot read {tmp_path}/tokens.yaml" in done.stderr, "all options are known, and the file is not there"


@pytest.mark.spec("K-09")
def test_the_configuration_of_journal_servers_in_the_readme_is_one(tmp_path: Path) -> None:
    (text,) = section("More than one machine", "conf")
    config = tmp_path / "nats.conf"
    config.write_text(text.replace("/var/lib/nats", str(tmp_path)))
    server = Path(sys.executable).with_name("nats-server")
    done = subprocess.run([server, "-t", "-c", config], capture_output=True, text=True, check=False, timeout=60)
    assert "configuration file" in done.stderr
    assert "is valid" in done.stderr


@pytest.mark.spec("K-09")
def test_the_unit_of_a_node_in_the_readme_starts_what_there_is(tmp_path: Path) -> None:
    _, unit = section("More than one machine", "ini")
    (start,) = re.findall(r"^ExecStart=\S*/dex (.*)$", unit, re.MULTILINE)
    here = start.replace("/var/lib/dex", str(tmp_path)).replace("/etc/dex", str(tmp_path))
    done = subprocess.run(
        [Path(sys.executable).with_name("dex"), *here.split()],
        env=os.environ | {"DEX_CLUSTER": "nats://127.0.0.1:1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert f"cannot read {tmp_path}/tokens.yaml" in done.stderr, "all options are known, and the file is not there"
