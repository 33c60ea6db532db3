"""The hash-partitioned AttributeMap (spec: H-01 … H-05)."""

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dex import (
    AttributeMapNotLoadedError,
    Client,
    FlowAlreadyStartedError,
    NotFound,
    Refused,
    RPCInvokeOptions,
    RPCLockConflict,
)
from dex.engine.lockretry import LockRetry
from dex.samples.chunked_subscribers import ChunkedSubscriberFlow
from dex.samples.customer_directory import (
    FLOW_ID,
    CustomerDirectory,
    CustomerProfile,
    canonical_email,
    fnv1a_32,
    partition_of,
)


def profile(email: str, name: str = "Ann Example") -> CustomerProfile:
    return CustomerProfile(email, name, "Example Ltd", "gold")


def colliding(email: str) -> str:
    """Give another address of the same partition."""
    wanted = partition_of(email)
    return next(found for number in count() if partition_of(found := f"c{number}@example.test") == wanted)


@pytest.mark.spec("H-01")
@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        (" Ann@Example.TEST ", "ann@example.test"),
        ("\t\n\v\f\rA@B \r\n", "a@b"),
        ("ann@example.test", "ann@example.test"),
        ("a b@x", "a b@x"),
        ("[\\]^_`{|}@Z", "[\\]^_`{|}@z"),
        ("\x1fa@b\x1c", "\x1fa@b\x1c"),
    ],
)
def test_an_address_has_one_spelling(written: str, canonical: str) -> None:
    assert canonical_email(written) == canonical


@pytest.mark.spec("H-01")
@pytest.mark.parametrize("written", ["", " ", "\t\n\v\f\r ", "é@example.test", "\u00a0a@b", "\u017f@x", "\u212a@x"])
def test_what_is_empty_or_not_ascii_is_refused(written: str) -> None:
    with pytest.raises(Refused) as caught:
        canonical_email(written)
    assert caught.value.status == 400


@pytest.mark.spec("H-01")
@given(st.text(st.characters(max_codepoint=127)))
def test_the_one_spelling_is_its_own(text: str) -> None:
    try:
        canonical = canonical_email(text)
    except Refused:
        return
    assert canonical_email(canonical) == canonical
    assert canonical_email(f" {text.upper()}\t") == canonical


@pytest.mark.spec("H-02")
@pytest.mark.parametrize(
    ("email", "hashed", "partition"),
    [
        ("bob@example.com", 3055529145, "partition-145"),
        ("support+west@example.org", 2156001632, "partition-632"),
    ],
)
def test_the_vectors_of_the_page(email: str, hashed: int, partition: str) -> None:
    assert (fnv1a_32(email.encode()), partition_of(email)) == (hashed, partition)


@pytest.mark.spec("H-02")
@pytest.mark.parametrize(("data", "hashed"), [(b"", 0x811C9DC5), (b"a", 0xE40C292C), (b"foobar", 0xBF9CF968)])
def test_the_published_vectors_of_fnv_1a(data: bytes, hashed: int) -> None:
    assert fnv1a_32(data) == hashed


@pytest.mark.spec("H-02")
def test_the_name_has_three_digits_and_is_the_same_in_every_process() -> None:
    """Case 36: nothing of it depends on a seed of the process."""
    names = {partition_of(f"u{number}@example.test") for number in range(20_000)}
    assert names == {f"partition-{number:03}" for number in range(1000)}
    code = "from dex.samples.customer_directory import partition_of; print(partition_of('ann@example.test'))"
    seen = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert seen == {f"{partition_of('ann@example.test')}\n".encode()}


@pytest.mark.spec("H-03", "H-04")
def test_an_address_is_one_profile_however_it_is_written(client: Client, directory: CustomerDirectory) -> None:
    """Case 36: the second upsert replaces, and only one partition exists."""
    directory.upsert(profile(" Ann@Example.TEST ", "Old"))
    saved = directory.upsert(profile("ann@example.test", "New"))
    assert saved == directory.get("ANN@example.test") == profile("ann@example.test", "New")
    key = f"CustomerProfilesByEmailPartition/{partition_of('ann@example.test')}"
    assert client.get_attributes(FLOW_ID) == {key: {"ann@example.test": saved}}


@pytest.mark.spec("H-03")
def test_addresses_that_collide_stay_distinct(client: Client, directory: CustomerDirectory) -> None:
    """One partition holds both in full, and replacing one keeps the other."""
    first, second = "ann@example.test", colliding("ann@example.test")
    directory.upsert(profile(first, "First"))
    directory.upsert(profile(second, "Second"))
    directory.upsert(profile(first, "Changed"))
    assert (directory.get(first).full_name, directory.get(second).full_name) == ("Changed", "Second")
    (bucket,) = client.get_attributes(FLOW_ID).values()
    assert set(bucket) == {first, second}


@pytest.mark.spec("H-04")
def test_a_missing_partition_and_a_missing_address_are_both_not_found(directory: CustomerDirectory) -> None:
    directory.upsert(profile("ann@example.test"))
    messages = []
    for missing in ("nobody@example.test", colliding("ann@example.test")):
        with pytest.raises(NotFound) as caught:
            directory.get(missing)
        assert (caught.value.status, caught.value.email_address) == (404, missing)
        messages.append(caught.value.message.replace(missing, "X"))
    assert messages[0] == messages[1]


@pytest.mark.spec("H-03", "FL-05", "FL-07")
def test_the_handler_does_not_believe_the_caller(client: Client, directory: CustomerDirectory) -> None:
    """A call that locks and loads another partition than the address has is refused and writes nothing."""
    partitions = directory.flow.customer_profiles_by_email_partition
    wrong = RPCInvokeOptions((partitions.lock("partition-000"),), (partitions.load("partition-000"),))
    with pytest.raises(AttributeMapNotLoadedError):
        client.invoke_rpc(directory.flow.upsert_customer_profile, FLOW_ID, profile("ann@example.test"), wrong)
    assert client.get_attributes(FLOW_ID) == {}


@pytest.mark.spec("H-04", "H-05", "FL-07")
def test_a_held_lock_stops_writers_of_its_partition_only(client: Client, directory: CustomerDirectory) -> None:
    """While the lock is held, an upsert to it is refused, one beside it and a read are not."""
    held, beside = "ann@example.test", "bob@example.com"
    directory.upsert(profile(held))
    hasty = CustomerDirectory(client, LockRetry(attempts=3, sleep=lambda _seconds: None))
    key = f"CustomerProfilesByEmailPartition/{partition_of(held)}"
    with client.engine.flows.parts.locks.hold(FLOW_ID, [key]):  # type: ignore[attr-defined]  # the embedded engine
        with pytest.raises(RPCLockConflict):
            hasty.upsert(profile(held, "Changed"))
        hasty.upsert(profile(beside))
        assert hasty.get(held).full_name == "Ann Example"
    assert hasty.upsert(profile(held, "Changed")).full_name == "Changed"


@pytest.mark.spec("H-05", "FL-07")
def test_writers_of_one_partition_lose_no_profile(connect: Callable[[], Client]) -> None:
    """16 threads of two engines upsert into one partition and others: every profile is there."""
    directories = [CustomerDirectory(connect()) for _ in range(2)]
    directories[0].run.start()
    wanted = partition_of("ann@example.test")
    numbers = (number for number in count() if partition_of(f"p{number}@example.test") == wanted)
    emails = [f"p{next(numbers)}@example.test" for _ in range(12)] + [f"q{number}@example.test" for number in range(36)]
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda job: directories[job[0] % 2].upsert(profile(job[1])), enumerate(emails)))
    assert [directories[0].get(email).email_address for email in emails] == emails


@pytest.mark.spec("H-03")
def test_a_directory_that_is_not_started_says_how_to_start_it(client: Client) -> None:
    """Before the start and after a stop; starting again gives a new, empty one."""
    directory = CustomerDirectory(client)
    for _ in range(2):
        for call in (
            directory.run.check_started,
            lambda: directory.get("a@b"),
            lambda: directory.upsert(profile("a@b")),
        ):
            with pytest.raises(NotFound, match="start it once with `dex profile start`"):
                call()
        assert directory.run.start().started
        again = directory.run.start()
        assert (again.started, again.run_id) == (False, client.describe_flow(FLOW_ID).run_id)
        directory.upsert(profile("a@b"))
        client.stop_flow(FLOW_ID)


@pytest.mark.spec("FL-01")
def test_an_id_that_another_type_has_is_not_taken_over(client: Client) -> None:
    client.start_flow(ChunkedSubscriberFlow, FLOW_ID)
    with pytest.raises(FlowAlreadyStartedError, match="ChunkedSubscriberFlow"):
        CustomerDirectory(client).run.start()
