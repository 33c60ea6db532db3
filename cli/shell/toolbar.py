"""The bar at the bottom: target, freshness, mode (spec: P-01)."""

from pathlib import Path

from dex.wcl.commands import Freshness

MAX_TARGET = 40


def toolbar_text(target: str, freshness: Freshness | None, mode: str, results: str | None) -> str:
    """Give the bar's text; `freshness` is None where the target holds nothing yet or does not answer."""
    fields = [target, _freshness(freshness), mode]
    if results is not None:
        fields.append(f"results go to {results}")
    return " " + " | ".join(fields) + " "


def target_text(endpoint: str | None, directory: str) -> str:
    """Give where commands go: a server, the first of several, or a directory."""
    if endpoint is None:
        return abbreviated(directory)
    first, *others = endpoint.split(",")
    return f"{first} and {len(others)} more" if others else first


def abbreviated(directory: str, home: str | None = None) -> str:
    """Give a directory as a person would write it: `~` for the home, and the end of a long one."""
    path, base = Path(directory), Path(home or Path("~").expanduser())
    text = str(Path("~") / path.relative_to(base)) if path.is_relative_to(base) and base != Path("/") else str(path)
    return text if len(text) <= MAX_TARGET else "…" + text[-MAX_TARGET + 1 :]


def _freshness(freshness: Freshness | None) -> str:
    if freshness is None:
        return "no position"
    behind = f"{freshness.behind} behind" if freshness.behind else "up to date"
    return f"position {freshness.committed_seq}, {behind}"
