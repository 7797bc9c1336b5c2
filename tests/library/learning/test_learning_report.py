"""`learn` reports the number of explained frames and its questions, and refuses to write a poor dialect."""

from typing import Any

import pytest

from home_made import sse
from invented_backends import FIRST, LATER, Backend, ndjson
from streamweir import load_dialect
from streamweir.codec.base import NO_OPTIONS
from streamweir.codec.dialect import Dialect
from streamweir.codec.mapped.reader import MappedDecoder
from streamweir.events import Data
from streamweir.learning.learn import Learned, NothingLearned, learn
from streamweir.learning.observed_frames import framing_of, observe

BACKENDS = {**FIRST, **LATER}
WORDS = [{"kind": "tok", "t": text} for text in ("Tea ", "is ", "better ", "than ", "coffee. ")]
END = {"kind": "bye"}


def frames_that_say_something(learned: Learned, bodies: list[bytes]) -> int:
    """Count the frames whose events are other than `custom`, which end the stream, or which are ignored."""
    decoder_class = Dialect.of_class("acme", load_dialect(learned.dialect))
    observed = observe(bodies, framing_of(bodies[0]) or "")
    count = 0
    for one in observed:
        decoder = decoder_class.make_decoder(NO_OPTIONS)
        assert isinstance(decoder, MappedDecoder)
        events = [*decoder.decode_alone(one.frame)]
        is_custom = any(isinstance(event, Data) and event.data_type == "custom" for event in events)
        is_said = bool(events) and not is_custom
        count += is_said or decoder.complete or decoder.taker == "ignored"
    return count


@pytest.mark.parametrize("name", BACKENDS)
def test_report_of_any_backend_counts_frames_with_content(name: str) -> None:
    backend: Backend = BACKENDS[name]
    bodies = [run.body for run in backend.recorded]
    learned = learn(bodies)
    report = learned.report
    assert report.frames == len(observe(bodies, report.framing))
    assert report.explained == frames_that_say_something(learned, bodies)
    assert sum(one.frames for one in report.names) == report.frames
    for about, question in report.unsure:
        assert about
        assert question.endswith("?")
        assert f"# {question}" in learned.yaml
    if backend.must_ask:
        assert report.unsure


def explained(*messages: Any) -> tuple[int, int]:
    report = learn([sse(*messages)]).report
    return report.frames, report.explained


def test_report_of_frames_that_only_reach_custom_counts_them_as_unexplained() -> None:
    assert explained(*WORDS, {"kind": "mood", "level": {"joy": 3}}, END) == (7, 6)


def test_report_of_signs_of_life_counts_them_if_only_counters_and_times_change() -> None:
    pings = [{"kind": "ping", "n": number, "at": f"2026-01-01T00:00:0{number}Z"} for number in range(3)]
    assert explained(*WORDS, *pings, END) == (9, 9)
    pings = [{"kind": "ping", "load": load} for load in ("low", "high", "low")]
    assert explained(*WORDS, *pings, END) == (9, 6)


def test_report_of_frames_with_empty_text_counts_them_as_unexplained() -> None:
    assert explained(*WORDS, {"kind": "tok", "t": ""}, {"kind": "tok", "t": ""}, END) == (8, 6)


def test_report_of_repetitions_without_an_event_counts_them_as_unexplained() -> None:
    both = [(name, {"delta": text}) for text in ("Tea ", "is ", "good. ") for name in ("piece", "copy")]
    frames, said = explained(*both, ("end", {}))
    assert (frames, said) == (7, 4)


def test_report_of_token_counts_and_marks_of_the_end_counts_them() -> None:
    usage = {"kind": "usage", "prompt_tokens": 3, "completion_tokens": 4}
    assert explained(*WORDS, usage, "[DONE]") == (7, 7)


def test_learn_if_less_than_half_is_explained_refuses_with_questions() -> None:
    strange = [{"kind": f"k{n % 3}", "level": {"joy": n}} for n in range(9)]
    with pytest.raises(NothingLearned, match="less than half") as refusal:
        learn([sse(*WORDS, *strange, END)])
    report = refusal.value.report
    assert report is not None
    assert (report.frames, report.explained) == (15, 6)
    assert {question.about for question in report.unsure} >= {"k0", "k1", "k2"}


def test_learn_without_text_refuses_with_a_question() -> None:
    with pytest.raises(NothingLearned) as refusal:
        learn([sse({"kind": "a", "n": 1}, {"kind": "b", "n": 2})])
    assert refusal.value.report is not None
    assert all(question.question.endswith("?") for question in refusal.value.report.unsure)


# Bad input


@pytest.mark.parametrize("keep", [-1, -9, -25])
def test_learn_from_a_recording_cut_in_a_frame_leaves_that_frame_out(keep: int) -> None:
    whole = sse(*WORDS, END)
    cut = sse(*WORDS, {"kind": "tok", "t": "and never stops"})[:keep]
    learned = learn([whole, cut])
    assert not [one for one in learned.report.unsure if "never" in one.question]
    assert learned.report.frames == 11 + (keep == -1)


def test_learn_from_ndjson_cut_in_a_frame_asks_about_the_end() -> None:
    body = ndjson(*WORDS) + b'{"kind": "to'
    learned = learn([body])
    assert learned.report.frames == 5
    assert learned.dialect["terminal"] == ["eof"]
    assert any(question.about == "terminal" for question in learned.report.unsure)


@pytest.mark.parametrize("body", [sse(*WORDS, END), ndjson(*WORDS, END)])
def test_learn_from_a_recording_with_a_byte_order_mark_reads_it(body: bytes) -> None:
    assert learn([b"\xef\xbb\xbf" + body]).dialect == learn([body]).dialect


def test_learn_from_one_frame_asks_if_that_is_the_answer() -> None:
    learned = learn([sse({"kind": "tok", "t": "Tea is better than coffee."})])
    assert learned.report.frames == 1
    assert learned.report.unsure


@pytest.mark.parametrize(
    "body",
    [
        b'Traceback (most recent call last):\n  File "a.py", line 3, in run\nKeyError: 1\n',
        b'{"error": "the model is overloaded"}',
        sse({"kind": "err", "message": "the model is overloaded"}),
        b"Error: the model is overloaded",
    ],
)
def test_learn_from_a_failure_alone_writes_nothing(body: bytes) -> None:
    with pytest.raises(NothingLearned):
        learn([body])
