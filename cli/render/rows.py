"""What table and CSV share: a result as rows of named cells."""

from typing import Any

MISSING: Any = type("Missing", (), {"__repr__": lambda _self: "MISSING"})()
"""What a row has under a column that it lacks; null is a value."""

_LISTS = ("rows", "records", "entries", "subscribers", "flows", "events", "messages")


def rows_of(data: Any) -> list[dict[str, Any]] | None:
    """Give the rows of a result, objects in them flattened to `outer.inner`; None if it is no list.

    A page such as `{"rows": […], "next_key": …}` counts as its rows.
    """
    if isinstance(data, dict):
        found = next((data[name] for name in _LISTS if isinstance(data.get(name), list)), None)
        return None if found is None else [flatten(item) for item in found]
    return [flatten(item) for item in data] if isinstance(data, list) else None


def rest_of(data: Any) -> dict[str, Any]:
    """Give what a page says beside its rows, such as where the next one starts."""
    if not isinstance(data, dict):
        return {}
    return {name: value for name, value in data.items() if name not in _LISTS and value is not None}


def flatten(item: Any) -> dict[str, Any]:
    """Give one item as named cells."""
    if not isinstance(item, dict):
        return {"value": item}
    cells: dict[str, Any] = {}
    for name, value in item.items():
        if isinstance(value, dict) and set(value) != {"bytes"}:
            cells.update({f"{name}.{inner}": cell for inner, cell in flatten(value).items()})
        else:
            cells[name] = value
    return cells


def columns_of(rows: list[dict[str, Any]]) -> list[str]:
    """Give every column in the order of first sight."""
    return list({name: None for row in rows for name in row})


def pick(item: dict[str, Any], columns: list[str]) -> list[Any]:
    """Give the cells of one item under fixed columns; a column may name a whole object or `outer.inner`."""
    flat = flatten(item)
    return [item[name] if name in item else flat.get(name, MISSING) for name in columns]
