"""Strategies for names, keys, extractors and commands that WCL can spell, and for scripts with faults."""

from hypothesis import strategies as st

from dex.wcl import commands
from dex.wcl.table import KEYWORDS

CONTROL = "".join(map(chr, [*range(0x20), 0x7F]))
characters = st.characters(exclude_categories=["Cs"], exclude_characters=CONTROL)
texts = st.text(characters, min_size=1, max_size=12)

keywords_in_any_case = st.sampled_from(KEYWORDS).flatmap(
    lambda word: st.lists(st.booleans(), min_size=len(word), max_size=len(word)).map(
        lambda flags: "".join(c.lower() if lower else c for c, lower in zip(word, flags, strict=True))
    )
)
bare_words = st.from_regex(r"[a-z0-9_é日]{1,5}(-[a-z0-9_]{1,3})?", fullmatch=True)
segments = st.one_of(
    keywords_in_any_case,
    bare_words,
    texts.map(lambda text: text.replace(".", "")).filter(str.strip),
)
names = st.lists(segments, min_size=1, max_size=3).map(".".join)
key_names = st.one_of(names, texts.filter(str.strip))

extractors = st.one_of(
    st.just(commands.RecordKey()),
    texts.map(commands.Metadata),
    texts.filter(lambda path: all(path.split("."))).map(commands.Json),
)


@st.composite
def store_definitions(draw: st.DrawFn) -> commands.DefineStateStore:
    """A DEFINE STATESTORE, manual or over a feed."""
    feed = draw(st.none() | names)
    keys = [
        commands.NamedKey(name, draw(st.booleans()), draw(extractors) if feed else None)
        for name in draw(st.lists(key_names, max_size=10, unique=True))
    ]
    return commands.DefineStateStore(
        name=draw(names),
        source=commands.FromFeed(feed) if feed else commands.Manual(),
        named_keys=keys,
        if_not_exists=draw(st.booleans()),
    )


ddl_commands = st.one_of(
    store_definitions(),
    st.builds(commands.DropStateStore, name=names, if_exists=st.booleans()),
    st.builds(commands.DescribeStateStore, name=names),
    st.just(commands.ShowStateStores()),
    st.builds(commands.DefineFeed, name=names, if_not_exists=st.booleans()),
    st.builds(commands.DropFeed, name=names, if_exists=st.booleans()),
    st.builds(commands.DescribeFeed, name=names),
    st.just(commands.ShowFeeds()),
)

VALID = (
    "DEFINE STATESTORE accounts.employees KEYS department, passport UNIQUE;",
    "DEFINE STATESTORE IF NOT EXISTS a.t FROM FEED a.ev KEYS p = METADATA 'x;y' UNIQUE, q = JSON 'a.b';",
    'DROP STATESTORE IF EXISTS "eu:orders"."keys"; -- it\'s gone\nSHOW FEEDS',
    "/* don't */ DEFINE FEED a.feed;\r\nDESCRIBE FEED a.feed; SHOW STATESTORES",
    "DEFINE STATESTORE s FROM FEED f KEYS r = RECORD_KEY; DROP FEED f; DESCRIBE STATESTORE s;",
)
_snippets = st.sampled_from(
    ["'", '"', ";", "--", "/*", "*/", ".", ",", "=", "\n", "\r\n", "\ufeff", "\0", "\ud800", "-", "日", *KEYWORDS]
)


@st.composite
def mutated_scripts(draw: st.DrawFn) -> str:
    """A good script with pieces cut out and others put in."""
    text = draw(st.sampled_from(VALID))
    for _ in range(draw(st.integers(1, 4))):
        begin = draw(st.integers(0, len(text)))
        end = draw(st.integers(begin, min(len(text), begin + 6)))
        text = text[:begin] + draw(st.just("") | _snippets) + text[end:]
    return text


any_text = st.one_of(mutated_scripts(), st.text(max_size=60), st.lists(_snippets, max_size=12).map(" ".join))
