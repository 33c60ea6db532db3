"""`--key` of `dex store define`."""

import pytest

from dex.cli.keyoptions import named_key
from dex.wcl.commands import Json, Metadata, NamedKey, RecordKey
from dex.wcl.errors import InputError


@pytest.mark.spec("W-01", "W-02")
@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("a", NamedKey("a")),
        ("a:unique", NamedKey("a", True)),
        ("eu:orders", NamedKey("eu:orders")),
        ("my key", NamedKey("my key")),
        ("price unit", NamedKey("price unit")),
        ("unique", NamedKey("unique")),
        ("a:unique=metadata:pp", NamedKey("a", True, Metadata("pp"))),
        ("a=json:a.b", NamedKey("a", False, Json("a.b"))),
        ("a=record_key", NamedKey("a", False, RecordKey())),
    ],
)
def test_what_a_key_option_says(text: str, key: NamedKey) -> None:
    assert named_key(text) == key


@pytest.mark.spec("W-01", "W-02")
@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a:uniq", "did you mean a:unique?"),
        ("a:UNIQUE", "did you mean a:unique?"),
        ("a:Unqiue", "did you mean a:unique?"),
        ("a: unique", "did you mean a:unique?"),
        ("a UNIQUE", "did you mean a:unique?"),
        ("a unique", "did you mean a:unique?"),
        ("a UNIQUE=metadata:pp", "did you mean a:unique=metadata:pp?"),
        ("a=metadata:pp:unique", "did you mean a:unique=metadata:pp?"),
        ("a=metadata:pp UNIQUE", "did you mean a:unique=metadata:pp?"),
        ("a=record_key unique", "did you mean a:unique=record_key?"),
        ("a,b:unique", "give each key its own --key"),
        ("a=metdata:pp", "did you mean metadata?"),
        ("a=metadata", "write metadata:NAME"),
    ],
)
def test_what_was_meant_otherwise_is_never_a_name(text: str, hint: str) -> None:
    """Keys are fixed for ever, so a misspelled `unique` is refused with what was probably meant."""
    with pytest.raises(InputError) as caught:
        named_key(text)
    assert hint in str(caught.value)
