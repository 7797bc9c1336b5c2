"""Ids that are added to the events of an SSE body."""

import random

import pytest

from streams import random_cuts
from streamweir.framing.event_ids import EventIds

BODY = (
    b"\xef\xbb\xbfdata: first\n\n: ping\n\nevent: e\ndata: a\ndata: b\n\n\n"
    b': comment\ndata: x\nid: own\n\nid\ndata: empty id\n\n{"bare": 1}\n\nidea: no id\ndata: y\n\n'
    b"retry: 5\n\ndata: the last has no end"
)
WITH_IDS = (
    b"\xef\xbb\xbfid: 0\ndata: first\n\n: ping\n\nid: 1\nevent: e\ndata: a\ndata: b\n\n\n"
    b': comment\ndata: x\nid: own\n\nid\ndata: empty id\n\nid: 4\n{"bare": 1}\n\n'
    b"id: 5\nidea: no id\ndata: y\n\n"
    b"id: 6\nretry: 5\n\nid: 7\ndata: the last has no end"
)


def added(pieces: list[bytes]) -> bytes:
    ids = EventIds()
    return b"".join([*map(ids.add, pieces), ids.finish()])


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_event_ids_of_a_body_cut_anywhere_are_those_of_the_whole(end: bytes) -> None:
    body, expected = (text.replace(b"\n", end) for text in (BODY, WITH_IDS))
    assert added([body]).replace(b"no end", b"") in (
        expected.replace(b"no end", b""),
        expected.replace(b"id: 7" + end, b"id: 7\n").replace(b"no end", b""),
    )
    whole = added([body])
    assert added([body[at : at + 1] for at in range(len(body))]) == whole
    for seed in range(30):
        assert added([*random_cuts(body, seed)]) == whole


def test_event_ids_send_each_event_with_its_blank_line() -> None:
    ids = EventIds()
    assert ids.add(b"data: a\n") == b""
    assert ids.add(b"\n") == b"id: 0\ndata: a\n\n"
    assert ids.add(b": ping\n") == b": ping\n"
    assert ids.add(b"data: b\r\r") == b"id: 1\rdata: b\r\r"


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_event_ids_of_an_event_that_is_too_large_leave_its_bytes_unchanged(end: bytes) -> None:
    large = [
        b"data: " + b"x" * (1 << 19),
        b"x" * (1 << 19),
        b"x" * 10,
        end,
        b"data: more" + end,
        b"y",
        b"z" + end,
    ]
    following = b"data: next" + end + end
    for pieces in (
        [*large, end, following],
        [*large, end + following],
        [b"".join([*large[:3], end]), *large[4:], end, following],
    ):
        assert added(pieces) == b"".join(large) + end + b"id: 1" + end + following


def test_event_ids_of_an_event_that_is_too_large_hold_no_more_than_a_byte_of_it() -> None:
    ids = EventIds()
    sent = len(ids.add(b"data: " + b"x" * (1 << 20)))
    for _ in range(10):
        sent += len(ids.add(b"y" * 1000))
        assert sent >= 6 + (1 << 20) + 999
    assert ids.finish() == b"y"


def test_event_ids_of_any_bytes_are_the_bytes_and_ids() -> None:
    chance = random.Random(1)
    for _ in range(300):
        body = bytes(chance.choices(b"\r\n:id a\xef\xbb\xbf", k=chance.randrange(60)))
        out = added([*random_cuts(body, chance.randrange(1000))])
        rest = iter(out)
        assert all(byte in rest for byte in body), (body, out)
