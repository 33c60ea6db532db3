"""The option --key of `dex store define`: NAME[:unique][=EXTRACTOR] (spec: W-01, W-02)."""

from dex.wcl.commands import Extractor, Json, Metadata, NamedKey, RecordKey
from dex.wcl.errors import InputError
from dex.wcl.names import did_you_mean

_UNIQUE = "unique"
_KINDS = ("metadata", "json", "record_key")
_FORMS = "write metadata:NAME, json:DOTTED.PATH or record_key"
_LITERALLY = "a key that is really named so is declared in WCL, in double quotes"


def named_key(text: str) -> NamedKey:
    """Read NAME[:unique][=EXTRACTOR].

    Keys are fixed for ever, so what was probably meant as `unique`, or as two keys, is refused and never a name.

    Raises:
        InputError: the text has another form.
    """
    declared, equals, extractor = text.partition("=")
    name = declared.removesuffix(f":{_UNIQUE}")
    unique = name != declared
    _refuse_unique_at_the_end_of(name, text, f"{{}}:{_UNIQUE}{equals}{extractor}")
    if "," in name:
        raise InputError(f"--key {text!r} has a comma", f"give each key its own --key; {_LITERALLY}")
    return NamedKey(name, unique, _extractor(extractor, declared) if equals else None)


def _refuse_unique_at_the_end_of(part: str, text: str, wanted: str) -> None:
    """Refuse a misspelled or misplaced `unique`; `wanted` shows how it is written, around what stands before it."""
    for mark in (" ", ":"):
        head, found, tail = part.rpartition(mark)
        if found and head.strip() and _means_unique(tail):
            right = wanted.format(head.strip().rstrip(":"))
            raise InputError(f"{tail!r} in --key {text!r} is not {_UNIQUE}", f"did you mean {right}? {_LITERALLY}")


def _means_unique(word: str) -> bool:
    from difflib import get_close_matches

    folded = word.strip().casefold()
    return len(folded) > 1 and (_UNIQUE.startswith(folded) or bool(get_close_matches(folded, [_UNIQUE], 1, 0.75)))


def _extractor(text: str, declared: str) -> Extractor:
    name = declared.removesuffix(f":{_UNIQUE}")
    _refuse_unique_at_the_end_of(text, f"{declared}={text}", f"{name}:{_UNIQUE}={{}}")
    kind, _, detail = text.partition(":")
    if kind == "metadata" and detail:
        return Metadata(detail)
    if kind == "json" and detail:
        return Json(detail)
    if text == "record_key":
        return RecordKey()
    hint = did_you_mean(kind, _KINDS) if kind not in _KINDS else ""
    raise InputError(f"{text!r} in --key '{declared}={text}' is not an extractor", f"{hint} {_FORMS}".strip())
