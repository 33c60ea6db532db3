"""JSON texts: a name that an object has twice is refused with its path."""

import pytest

from dex.wcl.errors import InputError
from dex.wcl.jsontext import read_json, refuse_repeated_names

LONG = "9" * 5000


@pytest.mark.spec("W-09")
@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('{"a": 1, "a": 1}', "$.a"),
        ('{"a": 1, "\\u0061": 2}', "$.a"),
        ('{"a": "\\u003a", "a": "\\u003A"}', "$.a"),
        ('{"a": ":", "b:": "::", "a": "x"}', "$.a"),
        ('[0, {"b": {"c": [1, {"d": 1, "e": 2, "d": 3}]}}]', "$[1].b.c[1].d"),
        ('{"a": {"x": 1}, "b": {"x": 1, "x": 2}}', "$.b.x"),
        ('{"a": {"x": 1, "x": 2}, "a": 3}', "$.a.x"),
    ],
)
def test_a_name_given_twice_is_refused_with_its_path(text: str, path: str) -> None:
    """However deep it is and however it is spelt; the first one is told."""
    for data in (text, text.encode()):
        with pytest.raises(InputError) as caught:
            read_json(data, "the input", "write it well")
        assert str(caught.value) == f"the input has {path} twice; give each name one value"
        assert caught.value.path == path


@pytest.mark.spec("W-09")
@pytest.mark.parametrize(
    ("text", "document"),
    [
        ('[{"a": 1}, {"a": 2}]', [{"a": 1}, {"a": 2}]),
        ('{"a": {"a": {"a": []}}}', {"a": {"a": {"a": []}}}),
        ('"{\\"a\\": 1, \\"a\\": 2}"', '{"a": 1, "a": 2}'),
        ("{}", {}),
        ('{"a:": ":::", "b" :{"c": [":"]}}', {"a:": ":::", "b": {"c": [":"]}}),
        ('{"a": "\\u003a", "b": "\\\\u"}', {"a": ":", "b": "\\u"}),
        (f'{{"a": "{LONG}"}}', {"a": LONG}),
    ],
)
def test_what_gives_each_name_once_is_read(text: str, document: object) -> None:
    """A name may come again in another object, and what is inside of text is text."""
    assert read_json(text, "the input", "") == document


@pytest.mark.spec("W-09")
def test_only_the_outermost_object_counts_where_the_rest_is_opaque() -> None:
    """Without `nested` an inner object may be as it likes."""
    refuse_repeated_names('{"a": {"x": 1, "x": 2}}', {"a": {"x": 2}}, "the record", nested=False)
    with pytest.raises(InputError, match=r"the record has \$\.a twice"):
        refuse_repeated_names('{"a": {"x": 1, "x": 2}, "a": 3}', {"a": 3}, "the record", nested=False)
