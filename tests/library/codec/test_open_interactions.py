"""What was asked and is not answered is kept by its bytes."""

from streamweir.codec.open_interactions import OpenInteractions
from streamweir.events import Interaction


def form(number: int, size: int) -> Interaction:
    return Interaction(f"i{number}", "form", title="Which?", schema={"description": "x" * size})


def test_oldest_interactions_are_dropped_if_the_limit_is_reached() -> None:
    asked = OpenInteractions(room=10_000)
    for number in range(100):
        asked.add(form(number, 1000))
    kept = [event.interaction_id for event in asked]
    assert kept == [f"i{number}" for number in range(100 - len(kept), 100)]
    assert 4 <= len(kept) <= 8
    asked.add(form(99, 1000))
    assert len(asked) == len(kept)


def test_answered_interaction_frees_its_bytes() -> None:
    asked = OpenInteractions(room=10_000)
    for number in range(100):
        asked.add(form(number, 3000))
        asked.discard(f"i{number}")
    assert len(asked) == 0
    asked.add(form(1, 3000))
    asked.add(form(2, 3000))
    asked.discard("never asked")
    assert len(asked) == 2


def test_interaction_that_is_too_large_is_not_kept() -> None:
    asked = OpenInteractions(room=10_000)
    asked.add(form(1, 100))
    asked.add(form(2, 20_000))
    assert [event.interaction_id for event in asked] == ["i1"]
