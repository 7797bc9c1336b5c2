"""Every recorded stream gives the events that stand beside it, however the network cuts it."""

from zlib import crc32

import pytest

from cases import case, for_each
from streams import (
    PLANTED,
    Recorded,
    assert_keeps_its_meaning,
    dialect_of,
    events_of,
    one_byte_each,
    random_cuts,
    recorded_streams,
    small_pieces,
    translate,
)
from streamweir import detect_dialect
from streamweir.codec.registry import process_dialects
from streamweir.testing import check_stream

STREAMS = recorded_streams()


def options_of(stream: Recorded) -> dict[str, object]:
    return {"speaks": stream.dialect, "protocol_options": {stream.dialect: stream.options}}


@for_each("stream", STREAMS, group=dialect_of)
def test_recorded_stream_gives_the_expected_events(stream: Recorded, update: bool) -> None:
    output = translate([stream.body], **options_of(stream))
    if update:
        stream.expected.write_bytes(output)
    assert output.decode() == stream.expected.read_text()
    assert check_stream(output, framing="ndjson") == []


@pytest.mark.slow
@for_each("stream", STREAMS, group=dialect_of)
def test_recorded_stream_does_not_depend_on_the_cuts(stream: Recorded) -> None:
    whole = translate([stream.body], **options_of(stream))
    assert translate(one_byte_each(stream.body), **options_of(stream)) == whole
    for seed in range(5):
        assert translate(list(random_cuts(stream.body, seed)), **options_of(stream)) == whole


@for_each("stream", STREAMS, group=dialect_of)
def test_recorded_stream_is_detected(stream: Recorded) -> None:
    assert detect_dialect(stream.body) == stream.dialect
    auto = {**options_of(stream), "speaks": "auto"}
    assert translate([stream.body], **auto) == translate([stream.body], **options_of(stream))
    assert translate(small_pieces(stream.body), **auto) == translate([stream.body], **auto)


@for_each("stream", STREAMS, group=dialect_of)
def test_recorded_stream_leaks_nothing_but_the_answer(stream: Recorded) -> None:
    output = translate([stream.body], **options_of(stream), debug=True)
    failures = [
        event
        for event in events_of(output)
        if event["type"] in ("error", "warning") or event["data"].get("status") == "failed"
    ]
    for event in failures:
        event["data"].pop("result", None)
        assert not [secret for secret in PLANTED if secret in str(event)]


@pytest.mark.parametrize("target", sorted({*process_dialects().writable} & {*process_dialects().readable}))
def test_any_dialect_goes_into_any_other(target: str, pairs: int) -> None:
    """A sample of streams for each dialect that is written; `--pairs` says how many.

    Each stream into canonical events and each encoder from the corpus are tested whole; what is left to pairs
    is what the corpus lacks. The sample is the same each time, and a new stream changes little of it.
    """
    for stream in sample(target)[:pairs]:
        with case(stream):
            assert_keeps_its_meaning(stream.body, target, speaks=stream.dialect, options=stream.options)


def sample(target: str) -> list[Recorded]:
    """All streams, in an order by chance that is always the same."""
    return sorted(STREAMS, key=lambda stream: crc32(f"{stream} as {target}".encode()))
