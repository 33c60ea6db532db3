"""The JSON Schema of typed commands, checked by an independent reader of it where it matters: what it allows."""

import json
from typing import Any

import pytest

from dex.wcl.errors import InputError
from dex.wcl.schema import command_schema
from dex.wcl.wire import command_from, command_tags


def fields(name: str) -> dict[str, Any]:
    """Give the schema of one command's own fields."""
    schema = command_schema(name)
    found: dict[str, Any] = schema["$defs"][schema["$ref"].rpartition("/")[2]]
    return found


@pytest.mark.spec("W-09")
def test_all_commands_are_there_and_everything_is_plain_json() -> None:
    """Each tag is one alternative; no library type and no note of ours shows."""
    schema = command_schema()
    assert set(schema["discriminator"]["mapping"]) == command_tags()
    text = json.dumps(schema)
    assert "spec:" not in text
    assert all(f"#/$defs/{name}" in text for name in schema["$defs"])


@pytest.mark.spec("W-09")
@pytest.mark.parametrize("name", sorted(command_tags()))
def test_a_schema_says_what_reading_a_command_says(name: str) -> None:
    """A field that the schema lacks is refused by reading, and one that it requires is missed."""
    schema = fields(name)
    assert schema["properties"].pop("command")["enum"] == [name]
    assert schema["additionalProperties"] is False
    with pytest.raises(InputError) as caught:
        command_from({"command": name, "no such field": 1})
    message = str(caught.value)
    assert all(field in message for field in schema["properties"])
    assert f"dex command --schema {name}" in message


@pytest.mark.spec("W-09", "S-03")
def test_bytes_and_values_are_told_in_their_json_forms() -> None:
    """A key is text or base64, a named value any of its types or a list of them."""
    properties = fields("put_row")["properties"]
    assert [form["type"] for form in properties["key"]["anyOf"]] == ["string", "object"]
    forms = [form["type"] for form in properties["named"]["additionalProperties"]["anyOf"]]
    assert forms == ["string", "integer", "boolean", "null", "object", "array"]
    assert fields("put_row")["required"] == ["command", "store", "key"]


@pytest.mark.spec("W-09")
def test_an_unknown_name_has_the_nearest() -> None:
    with pytest.raises(InputError, match=r"did you mean put_row\?"):
        command_schema("put_rwo")
