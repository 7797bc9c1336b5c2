"""A long id is shortened where it arrives: small events behind it do not cost its length again."""

from __future__ import annotations

from typing import Any

import pytest

from hostile_streams import Blown, cases_of, sample, shapes_of
from streamweir import Translator, ids
from streamweir.codec.registry import process_dialects
from streamweir.digests import new_blake2b

LONG = 20_000
SMALL = 2 * ids.MAX_ID_CHARACTERS


@pytest.fixture
def digested(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of the long ids of which a digest is made."""
    lengths: list[int] = []

    def counted(data: bytes = b"", **options: Any) -> Any:
        if len(data) > SMALL:
            lengths.append(len(data))
        return new_blake2b(data, **options)

    monkeypatch.setattr(ids, "new_blake2b", counted)
    return lengths


def with_long_texts(speaks: str, hostile: int) -> list[Blown]:
    """Return messages with one long text each; those of ids and names are among them."""
    texts = [case for case in cases_of(speaks) if case.kind == "letters"]
    named = [case for case in texts if case.path and "id" in str(case.path[-1]).lower()]
    return [*sample(named, 5 * hostile), *sample(texts, hostile)]


@pytest.mark.parametrize("speaks", process_dialects().readable)
def test_events_behind_a_long_id_make_no_digest_of_it(speaks: str, hostile: int, digested: list[int]) -> None:
    small = [frame for shape in shapes_of(speaks) if len(frame := shape.frame(shape.value)) < SMALL]
    dear = set()
    for case in with_long_texts(speaks, hostile):
        long = case.of_size(LONG)
        for frame in sample(small, 2 * hostile):
            engine = Translator(speaks=speaks, request_id="req_1", session_id="s", clock=lambda: 1)
            engine.feed(long)
            engine.feed(frame)  # what an event has left open may be said once more
            digested.clear()
            engine.feed(frame)
            engine.feed(frame)
            if digested and not engine.ended:
                dear.add(f"{case} / {frame[:200]!r}")
    assert not dear
