"""`dex subscriber` (spec: C-01 … C-06)."""

import pytest

from tests.acceptance.conftest import Dex
from tests.acceptance.test_subscriber import register


@pytest.fixture
def subscribers(dex: Dex) -> Dex:
    """`dex` with the list started."""
    dex.ok("subscriber", "start")
    return dex


@pytest.mark.spec("C-06", "C-02", "C-03")
def test_subscribers_are_registered_and_paged(subscribers: Dex) -> None:
    empty = {"pageToken": "current", "subscribers": [], "nextPageToken": None}
    assert subscribers.ok("subscriber", "page").json == empty
    first = {"sequence": 1, "subscriberId": "s1", "deliveryAddress": "a@example.test"}
    assert subscribers.ok("subscriber", "register", "s1", "a@example.test").json == first
    second = subscribers.ok("subscriber", "register", "s2", "b@example.test").json
    assert subscribers.ok("subscriber", "page", "current").json == {**empty, "subscribers": [second, first]}
    assert subscribers.ok("subscriber", "start").json["started"] is False


@pytest.mark.spec("C-03", "C-06")
def test_145_subscribers_by_limit_and_by_token(subscribers: Dex) -> None:
    """Case 35: `--limit` of 500, 0 and -5, and a loop by token that meets each once."""
    register(subscribers, 145)
    newest_first = list(range(145, 0, -1))

    def listed(*args: str) -> list[int]:
        return [one["sequence"] for one in subscribers.ok("subscriber", "list", *args).json]

    assert listed("--limit", "500") == listed("--all") == newest_first
    assert listed() == newest_first[:100]
    assert listed("--limit", "46") == newest_first[:46]
    for limit in ("0", "-5"):
        done = subscribers("subscriber", "list", "--limit", limit)
        assert (done.code, done.out, done.err.count("\n")) == (2, b"", 1)
        assert f"limit is {limit}" in done.err
        assert done.err.endswith("; write 1 or more\n")
    assert subscribers("subscriber", "list", "--limit", "5", "--all").code == 2
    seen: list[int] = []
    token, pages = "current", 0
    while token is not None:
        page = subscribers.ok("subscriber", "page", token).json
        seen += [one["sequence"] for one in page["subscribers"]]
        token, pages = page["nextPageToken"], pages + 1
    assert (seen, pages) == (newest_first, 2)


@pytest.mark.spec("C-02")
def test_a_subscriber_without_id_or_address_is_refused(subscribers: Dex) -> None:
    for id_, address, what in (("", "a@example.test", "id"), ("s1", " ", "delivery address")):
        done = subscribers("subscriber", "register", id_, address)
        assert (done.code, f"the {what} of a subscriber cannot be blank" in done.err) == (1, True)
    assert subscribers.ok("subscriber", "page").json["subscribers"] == []


@pytest.mark.spec("C-04", "X-03")
def test_a_malformed_token_and_a_missing_chunk_are_two_errors(subscribers: Dex) -> None:
    for token, kind in (("first", "refused"), (f"{2:020}", "refused"), (f"{1:020}", "not_found")):
        done = subscribers("subscriber", "page", token, "-o", "json")
        assert (done.code, done.error["kind"], done.error["page_token"]) == (1, kind, token)


@pytest.mark.spec("C-06", "X-03")
def test_a_list_that_is_not_started_says_how(dex: Dex) -> None:
    for args in (["page"], ["register", "a", "b"], ["list"]):
        done = dex("subscriber", *args)
        assert (done.code, "dex subscriber start" in done.err) == (1, True)
