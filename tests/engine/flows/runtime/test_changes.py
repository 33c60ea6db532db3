"""Who is woken by a commit (spec: FL-10)."""

import pytest

from dex.engine.flows.runtime.parts import Changes


@pytest.mark.spec("FL-10")
def test_a_commit_of_a_run_wakes_those_who_wait_for_it_and_no_others():
    changes = Changes()
    with changes.of("a") as one, changes.of("a") as another, changes.of("b") as other:
        changes.notify("a")
        assert [waiting.seen() for waiting in (changes, one, another, other)] == [1, 1, 1, 0]
        changes.notify()
        assert [waiting.seen() for waiting in (changes, one, another, other)] == [2, 2, 2, 1]


@pytest.mark.spec("FL-10")
def test_who_waits_no_longer_is_forgotten():
    changes = Changes()
    with changes.of("a") as one:
        pass
    changes.notify("a")
    changes.notify()
    assert (changes.seen(), one.seen()) == (2, 0)
