"""Ids that have been seen are remembered in bounded memory, however many are added at a time."""

import json

from hypothesis import given
from hypothesis import strategies as st

from streamweir.ids import SeenIds, room_for, room_for_all, room_for_json

NAMES = st.text("abc哈", max_size=3)
STEPS = st.lists(st.lists(NAMES, max_size=6), max_size=12)


@given(STEPS, st.sampled_from([0, 500, 1500, 4000, 1 << 20]))
def test_ids_added_together_are_remembered_like_single_ones(steps: list[list[str]], room: int) -> None:
    together, single = SeenIds(room), SeenIds(room)
    for names in steps:
        is_new = len({*names}) == len(names) and not any(name in single for name in names)
        assert together.add_all(names) == is_new
        if is_new:
            for name in names:
                single.add(name)
        for known in {name for step in steps for name in step}:
            assert (known in together) == (known in single)


def test_oldest_ids_are_forgotten() -> None:
    seen = SeenIds(4000)
    assert seen.add_all([f"id-{number}" for number in range(100)])
    assert "id-99" in seen
    assert "id-0" not in seen
    assert sum(f"id-{number}" in seen for number in range(100)) < 20


@given(st.lists(st.text(max_size=5)))
def test_room_for_many_texts_is_that_of_each(texts: list[str]) -> None:
    assert room_for_all(texts) == room_for(*texts)


@given(st.lists(st.text()), st.booleans())
def test_room_for_json_covers_half_of_each_text_at_least(texts: list[str], escapes: bool) -> None:
    written = json.dumps(texts, ensure_ascii=escapes).encode("utf-8", "surrogatepass")
    assert room_for(*texts) <= 2 * room_for_json(written, len(texts))
