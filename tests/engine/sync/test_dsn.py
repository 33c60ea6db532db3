"""Connection strings: host and database may be shown, passwords never (case 25)."""

import copy
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dex.engine.sync.config import StoreConfig
from dex.engine.sync.dsn import Dsn, redact
from dex.engine.sync.tablename import TableName
from dex.wcl.errors import InputError

PASSWORD = "p@ss w/ord%"  # what tests look for
FORMS = [
    f"postgresql://dex:{quote(PASSWORD, safe='')}@db.example:5433/shop",
    f"postgres://db.example:5433/shop?user=dex&password={quote(PASSWORD)}",
    f"host=db.example port=5433 dbname=shop user=dex password='{PASSWORD}'",
    f"host = db.example port = 5433 dbname = shop sslpassword = '{PASSWORD}'",
]


def _shown(text: str) -> bool:
    return any(spelling in text for spelling in (PASSWORD, quote(PASSWORD), quote(PASSWORD, safe="")))


@pytest.mark.spec("Y-03")
@pytest.mark.parametrize("text", FORMS)
def test_a_dsn_shows_its_target_and_no_password(text: str) -> None:
    """As text, in the configuration that has it, and within what the driver says."""
    dsn = Dsn(text)
    assert dsn.reveal() == text
    assert dsn.target == "db.example:5433/shop"
    store = StoreConfig(name="orders", dsn=dsn, table=TableName(None, "t"))
    for shown in (str(dsn), repr(dsn), f"{dsn}", repr(store), repr(copy.copy(store))):
        assert "db.example:5433/shop" in shown
        assert not _shown(shown)
    for message in (f"bad {text}!", f"FATAL: {PASSWORD}", f"x={quote(PASSWORD, safe='')}", f"in {text!r}"):
        assert not _shown(dsn.redact(message))
    assert dsn.redact(f"cannot reach {text} now") == "cannot reach db.example:5433/shop now"


@pytest.mark.spec("Y-03")
@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("dbname=shop", "localhost:5432/shop"),
        ("postgresql:///shop?host=/run/postgresql", "/run/postgresql:5432/shop"),
        ("postgresql://a:1,b:2/shop", "a,b:1,2/shop"),
        ("hostaddr=10.0.0.1", "10.0.0.1:5432/"),
    ],
)
def test_a_target_has_what_the_dsn_leaves_out(text: str, target: str) -> None:
    assert Dsn(text).target == target


@pytest.mark.spec("Y-03")
@pytest.mark.parametrize(
    "text",
    [
        "postgresql://u:p@hunter2@h/shop",
        "postgres://u:p@hunter/2@h:5432/shop?sslmode=disable",
        "postgresql://u:12/hunter2@h/shop",
        "dbname=postgresql://u:hunter2@h/shop",
    ],
)
def test_a_password_that_the_driver_would_take_for_a_host_or_database_is_refused(text: str) -> None:
    """These are shown. A password has its @ and / percent-encoded in a URL."""
    with pytest.raises(InputError) as caught:
        Dsn(text)
    assert "hunter" not in str(caught.value)


@pytest.mark.spec("Y-03")
def test_an_at_sign_of_the_database_is_written_encoded() -> None:
    assert Dsn("postgresql://u:a@h/shop%40home?application_name=a@b").target == "h:5432/shop@home"


@pytest.mark.spec("Y-03")
@pytest.mark.parametrize("text", FORMS)
def test_a_text_of_unknown_origin_is_redacted(text: str) -> None:
    assert not _shown(redact(f"before {text} after"))


@pytest.mark.spec("Y-03")
@settings(max_examples=100, deadline=None, database=None)
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=4))
def test_any_password_is_hidden(password: str) -> None:
    """However it was written."""
    for text in (
        f"postgresql://dex:{quote(password, safe='')}@h/d",
        f"postgresql://h/d?password={quote(password, safe='')}",
        "host=h password='{}'".format(password.replace("\\", "\\\\").replace("'", "\\'")),
    ):
        dsn = Dsn(text)
        for message in (f"[{text}]", f"[{password}]", f"[{quote(password)}]"):
            assert password not in dsn.redact(message).replace(dsn.target, "").replace("***", "")
