"""Every recorded stream gives the events that stand beside it, however the network cuts it."""

import pytest

from streams import Recorded, events_of, one_byte_each, random_cuts, recorded_streams, translate
from streamweir import detect_dialect
from streamweir.codec.registry import encoder_names, make_encoder
from streamweir.testing import check_stream

STREAMS = recorded_streams()

# Made-up secrets that the recorded servers and the hand-made streams hold: none may leave in a failure.
PLANTED = (
    "org-SECRET123",
    "10.1.2.3",
    "10.0.0.7",
    "10.0.0.5",
    "sk-bad",
    "password=abc",
    "/srv/app",
    "db-internal",
    "hunter2",
)


def options_of(stream: Recorded) -> dict[str, object]:
    return {"speaks": stream.dialect, "protocol_options": {stream.dialect: stream.options}}


@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_gives_the_expected_events(stream: Recorded, update: bool) -> None:
    output = translate([stream.body], **options_of(stream))
    if update:
        stream.expected.write_bytes(output)
    assert output.decode() == stream.expected.read_text()
    assert check_stream(output, framing="ndjson") == []


@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_does_not_depend_on_how_it_is_cut(stream: Recorded) -> None:
    whole = translate([stream.body], **options_of(stream))
    assert translate(one_byte_each(stream.body), **options_of(stream)) == whole
    for seed in range(5):
        assert translate(list(random_cuts(stream.body, seed)), **options_of(stream)) == whole


@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_is_detected(stream: Recorded) -> None:
    assert detect_dialect(stream.body) == stream.dialect
    auto = {**options_of(stream), "speaks": "auto"}
    assert translate([stream.body], **auto) == translate([stream.body], **options_of(stream))
    assert translate(one_byte_each(stream.body), **auto) == translate([stream.body], **auto)


@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_leaks_nothing_that_is_not_the_answer(stream: Recorded) -> None:
    output = translate([stream.body], **options_of(stream), debug=True)
    failures = [
        event
        for event in events_of(output)
        if event["type"] in ("error", "warning") or event["data"].get("status") == "failed"
    ]
    for event in failures:
        event["data"].pop("result", None)
        assert not [secret for secret in PLANTED if secret in str(event)]


@pytest.mark.parametrize("target", encoder_names())
@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_any_dialect_goes_into_any_other(stream: Recorded, target: str) -> None:
    """What is written in another dialect and read again ends the same way, with the same answer.

    For a target that cannot replace text, the answer is what a client of protocol 1.0 gets.
    """
    version = "1.1" if make_encoder(target, {}).can_replace else "1.0"
    options = {stream.dialect: stream.options}
    options["standard"] = {**options.get("standard", {}), "version": version}
    straight = translate([stream.body], speaks=stream.dialect, protocol_options=options)
    written = translate([stream.body], **options_of(stream), answers=target, framing="sse")
    back = translate([written], speaks=target)
    assert check_stream(back, framing="ndjson") == []
    assert ending(back) == ending(straight)
    assert answer(back) == answer(straight)


def ending(output: bytes) -> str:
    return str(events_of(output)[-1]["data"]["status"])


def answer(output: bytes) -> str:
    """The text of all messages and channels together, replaced text aside."""
    texts: dict[object, str] = {}
    for event in events_of(output):
        if event["type"] == "content":
            data = event["data"]
            key = (event["metadata"].get("message_id"), data.get("channel"))
            texts[key] = (
                data["content"] if data.get("op") == "replace" else texts.get(key, "") + data["content"]
            )
    return "".join(texts.values())
