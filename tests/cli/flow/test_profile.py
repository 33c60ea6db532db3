"""`dex profile` (spec: H-01 … H-06)."""

import json
from pathlib import Path

import pytest

from tests.acceptance.conftest import Dex

PEOPLE = Path(__file__).parents[3] / "samples" / "people.csv"
DETAILS = ("--name", "Ann Example", "--company", "Example Ltd", "--tier", "gold")


@pytest.fixture
def directory(dex: Dex) -> Dex:
    """`dex` with the directory started."""
    dex.ok("profile", "start")
    return dex


@pytest.mark.spec("H-06", "H-01", "H-03")
def test_a_profile_is_upserted_and_read_in_any_spelling(directory: Dex) -> None:
    """Case 36, over processes."""
    expected = {
        "emailAddress": "ann@example.test",
        "fullName": "Ann Example",
        "companyName": "Example Ltd",
        "customerTier": "gold",
    }
    assert directory.ok("profile", "upsert", " Ann@Example.TEST ", *DETAILS).json == expected
    assert directory.ok("profile", "upsert", "ann@example.test", *DETAILS).json == expected
    assert directory.ok("profile", "get", "ANN@EXAMPLE.test").json == expected
    assert len(directory.ok("flow", "get", "customer-directory").json["attributes"]) == 1


@pytest.mark.spec("H-06")
def test_starting_twice_keeps_the_directory(dex: Dex) -> None:
    first = dex.ok("profile", "start").json
    dex.ok("profile", "upsert", "a@b", *DETAILS)
    assert dex.ok("profile", "start").json == {**first, "started": False}
    assert dex.ok("profile", "get", "a@b").json["fullName"] == "Ann Example"


@pytest.mark.spec("H-01", "H-04", "X-03")
def test_what_is_refused_is_one_line(dex: Dex) -> None:
    unstarted = dex("profile", "get", "a@b")
    assert (unstarted.code, "dex profile start" in unstarted.err) == (1, True)
    assert "dex profile start" in dex("profile", "import", str(PEOPLE)).err
    dex.ok("profile", "start")
    missing = dex("profile", "get", "a@b", "-o", "json")
    assert (missing.code, missing.error["kind"], missing.error["email_address"]) == (1, "not_found", "a@b")
    for bad in ("", "  ", "é@example.test"):
        done = dex("profile", "upsert", bad, *DETAILS, "-o", "json")
        assert (done.code, done.error["kind"]) == (1, "refused")
    assert dex("profile", "upsert", "a@b", "--name", "A").code == 2


@pytest.mark.spec("H-03", "H-04")
def test_the_page_can_be_followed_with_flow_commands(directory: Dex) -> None:
    """The RPCs by the names of the page, with an exact lock and load of the one partition."""
    profile = json.dumps(
        {"emailAddress": "bob@example.com", "fullName": "Bob", "companyName": "C", "customerTier": "free"}
    )
    instance = "CustomerProfilesByEmailPartition/partition-145"
    invoke = ("flow", "invoke", "customer-directory")
    unloaded = directory(*invoke, "UpsertCustomerProfile", "--input", profile, "--lock", instance)
    assert (unloaded.code, "is not loaded" in unloaded.err) == (1, True)
    directory.ok(*invoke, "UpsertCustomerProfile", "--input", profile, "--lock", instance, "--load", instance)
    got = directory.ok(*invoke, "GetCustomerProfileByEmail", "--input", '"bob@example.com"', "--load", instance)
    assert got.json["output"] == json.loads(profile)
    stored = directory.ok("flow", "get", "customer-directory", instance).json["attributes"]
    assert stored == {instance: {"bob@example.com": json.loads(profile)}}


@pytest.mark.spec("H-06")
def test_the_people_of_the_sample_are_imported_and_again_without_harm(directory: Dex) -> None:
    """More than a thousand from CSV; the second import, from standard input as NDJSON, changes nothing."""
    lines = PEOPLE.read_text().splitlines()
    assert len(lines) > 1000
    counts = {"read": len(lines) - 1, "applied": len(lines) - 1, "failed": 0}
    assert directory.ok("profile", "import", str(PEOPLE)).json == counts
    header = lines[0].split(",")
    records = [dict(zip(header, line.split(","), strict=True)) for line in lines[1:]]
    for record in (records[0], records[-1]):
        assert directory.ok("profile", "get", record["emailAddress"]).json == record
    before = directory.ok("flow", "get", "customer-directory").json
    ndjson = "".join(f"{json.dumps(record)}\n" for record in records)
    assert directory("profile", "import", "-", input=ndjson).json == counts
    assert directory.ok("flow", "get", "customer-directory").json == before
    kept = [profile for bucket in before["attributes"].values() for profile in bucket.values()]
    assert sorted(kept, key=lambda one: one["emailAddress"]) == sorted(records, key=lambda one: one["emailAddress"])


@pytest.mark.spec("H-06", "X-03")
def test_lines_that_fail_are_told_and_stop_no_others(directory: Dex) -> None:
    lines = [
        '{"emailAddress": "a@b", "fullName": "A", "companyName": "C", "customerTier": "t"}',
        '{"email_address": "é", "full_name": "A", "company_name": "C", "customer_tier": "t"}',
        '{"emailAdress": "c@d"}',
        "nonsense",
        '{"email_address": "c@d", "full_name": "A", "company_name": "C", "customer_tier": "t"}',
    ]
    done = directory("profile", "import", "-", input="\n".join(lines))
    assert (done.code, done.json) == (1, {"read": 5, "applied": 2, "failed": 3})
    told = done.err.splitlines()
    assert [line.partition(": ")[0] for line in told] == ["-:2", "-:3", "-:4", "error"]
    assert "did you mean emailAddress?" in told[1] or "emailAdress" in told[1]
    assert directory("profile", "import", "nowhere.csv").code == 2
