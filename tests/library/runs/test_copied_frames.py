"""A run whose first client speaks the upstream's dialect keeps the frames beside the events.

Source: the standard protocol 1.1, section 8; the contract of resumable streams, sections 2 and 3.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from cases import for_each
from streams import Recorded, dialect_of, recorded_streams, small_pieces
from streamweir import Translator
from streamweir.codec.registry import process_dialects
from streamweir.runs.copying_log import CopyingLog
from streamweir.runs.event_log import Batch
from streamweir.runs.feed_writer import open_feed_writer
from streamweir.runs.found_run import About
from streamweir.runs.memory_store import MemoryStore
from streamweir.runs.run_feed import RunFeed
from streamweir.runs.run_reader import RunReader
from streamweir.runs.stored_event import Source, UnreadableRun, copied_in, with_copied
from streamweir.testing import check_stream, cuts
from streamweir.translation.open_writer import Writer
from streamweir.translation.verbatim.verbatim_writer import VerbatimWriter

REQUEST_ID = "req_1"
FRAMINGS = {".sse": "sse", ".ndjson": "ndjson"}
STREAMS = [
    stream
    for stream in recorded_streams()
    if stream.path.suffix in FRAMINGS and process_dialects()[stream.dialect].writes
]
LEGACY = [
    b'data: {"type": "token", "content": "Hi"}\n\n',
    b": ping\n\n",
    b'data: {"type": "token", "content": " you"}\n\n',
    b'data: {"type": "done"}\n\n',
    b"data: [DONE]\n\n",
]


class Response:
    """A response in memory."""

    def __init__(self, answers: str, framing: str, *, is_whole: bool = True) -> None:
        self.is_open = False
        self.resumes_itself = answers == "standard"
        self._answers, self._framing, self._is_whole = answers, framing, is_whole
        self.sink: Writer = self._writer(Source())

    def open(self, source: Source) -> None:
        self.sink, self.is_open = self._writer(source), True

    def _writer(self, source: Source) -> Writer:
        return open_feed_writer(
            source,
            answers=self._answers,
            framing=self._framing,
            request_id=REQUEST_ID,
            dialects=process_dialects(),
            handle="run_" + "0" * 32,
            other_options={},
            is_whole=self._is_whole,
        )


TEA = b'data: {"type":"token","content":"Tea"}\n\n'


def translator_of(speaks: str, answers: str, framing: str, **options: Any) -> Translator:
    options |= {"clock": lambda: 1_790_000_000_000, "session_id": "sess_1", "request_id": REQUEST_ID}
    return Translator(speaks=speaks, answers=answers, framing=framing, **options)


def batches_of(translator: Translator, pieces: Iterable[bytes]) -> list[Batch]:
    """Return what is stored of a stream, read by read."""
    writer = translator.release_writer()
    assert isinstance(writer, VerbatimWriter)
    log = CopyingLog(lambda: Source(translator.speaks), writer)
    translator.write_to(log)
    batches = []
    for piece in pieces:
        translator.feed(piece)
        batches.append(log.take())
    translator.close()
    batches.append(log.take())
    return [batch for batch in batches if batch is not None]


def test_log_of_frames_that_are_not_copied_keeps_nothing_of_them() -> None:
    translator = translator_of("auto", "easyflow", "sse")
    writer = translator.release_writer()
    assert isinstance(writer, VerbatimWriter)
    log = CopyingLog(lambda: Source(translator.speaks), writer)
    translator.write_to(log)
    for _ in range(100):
        translator.feed(LEGACY[0])
        translator.feed(LEGACY[1])
        log.take()
    assert translator.speaks == "legacy"
    assert not log.copies
    assert not log._frame_ends


def test_log_of_an_answer_in_one_read_knows_the_end_of_each_frame() -> None:
    answer = b'data: {"type":"final_answer","content":"Tea"}\n\ndata: [DONE]\n\n'
    (batch, _) = batches_of(translator_of("legacy", "legacy", "sse"), [TEA * 2 + answer])
    assert batch.copied == TEA * 2 + answer
    assert batch.frame_ends == [2, 3, 4, 4]


def read_by(response: Response, batches: Iterable[Batch]) -> bytes:
    about = About(endpoint="/chat", request_id=REQUEST_ID, started_at=0)
    feed = RunFeed(RunReader(MemoryStore(), None, "run", about), response)
    body = b""
    for batch in batches:
        feed.write(batch)
        body += response.sink.take()
    response.sink.finish()
    return body + response.sink.take()


def lines_of(batches: Sequence[Batch]) -> list[bytes]:
    return [line for batch in batches for line in batch.stored]


def pages_of(batches: Sequence[Batch]) -> list[Batch]:
    """Return the batches that a reader gets from the store."""
    lines = lines_of(batches)
    return [Batch.of(at, lines[at : at + 7]) for at in range(0, len(lines), 7)]


@pytest.mark.slow
@for_each("recorded", STREAMS, group=dialect_of)
def test_copied_run_read_live_and_from_the_store_is_the_verbatim_body(recorded: Recorded) -> None:
    framing = FRAMINGS[recorded.path.suffix]
    options = {"protocol_options": {recorded.dialect: recorded.options}} if recorded.options else {}

    def translator() -> Translator:
        return translator_of(recorded.dialect, recorded.dialect, framing, **options)

    for pieces in ([recorded.body], small_pieces(recorded.body), cuts(recorded.body, seed=3)):
        expected = translator()
        if not isinstance(expected.writer, VerbatimWriter):
            return  # the standard, or options that ask for another form
        body = b"".join([*map(expected.feed, pieces), expected.close()])
        if not expected.writer.copies or expected.is_whole:
            continue  # nothing came that a frame could be copied of
        batches = batches_of(translator(), pieces)
        assert read_by(Response(recorded.dialect, framing), batches) == body
        assert read_by(Response(recorded.dialect, framing), pages_of(batches)) == body


@for_each("recorded", STREAMS[::3], group=dialect_of)
def test_copied_run_read_in_the_standard_is_valid(recorded: Recorded) -> None:
    translator = translator_of(recorded.dialect, recorded.dialect, FRAMINGS[recorded.path.suffix])
    if not isinstance(translator.writer, VerbatimWriter):
        return
    batches = batches_of(translator, cuts(recorded.body, seed=3))
    live = read_by(Response("standard", "sse"), batches)
    assert check_stream(live) == []
    assert read_by(Response("standard", "sse"), pages_of(batches)) == live


def test_frame_without_an_event_is_given_to_readers_at_once_and_stored_with_the_next_event() -> None:
    batches = batches_of(translator_of("legacy", "legacy", "sse"), LEGACY)

    comment = batches[1]
    assert (comment.copied, comment.stored, comment.at, comment.end) == (LEGACY[1], (), 2, 2)
    copied = [copied_in(line) for line in lines_of(batches)]
    assert b"".join(data for found in copied if (data := found and found[0])) == b"".join(LEGACY)


def test_reader_that_misses_a_batch_reads_each_byte_once() -> None:
    batches = batches_of(translator_of("legacy", "legacy", "sse"), LEGACY)
    stored = [Batch.of(batch.at, batch.stored) for batch in batches if batch.stored]
    for missed in range(len(batches) + 1):
        first = batches[missed].at if missed < len(batches) else len(lines_of(batches))
        late = [batch for batch in stored if batch.at >= first]
        assert read_by(Response("legacy", "sse"), [*batches[:missed], *late]) == b"".join(LEGACY), missed


def test_batches_that_waited_for_the_store_are_read_as_one() -> None:
    batches = batches_of(translator_of("legacy", "legacy", "sse"), LEGACY)

    assert read_by(Response("legacy", "sse"), [Batch.joined(batches)]) == b"".join(LEGACY)


def test_run_read_behind_a_position_is_written_anew() -> None:
    batches = batches_of(translator_of("legacy", "legacy", "sse"), LEGACY)

    body = read_by(Response("legacy", "sse", is_whole=False), batches)

    assert b"".join(LEGACY) not in body
    assert b'id: run_00000000000000000000000000000000.1\ndata: {"type":"token","content":"Hi"}' in body


def test_run_in_another_framing_is_written_anew() -> None:
    batches = batches_of(translator_of("legacy", "legacy", "sse"), LEGACY)

    assert read_by(Response("legacy", "ndjson"), batches).startswith(b'{"type":"token","content":"Hi"}')


def test_stream_of_another_dialect_keeps_no_frames() -> None:
    body = b'data: {"protocol":"easyflow-chat","type":"message","domain":"llm","payload":{"delta":"Hi"}}\n\n'

    batches = batches_of(translator_of("auto", "legacy", "sse"), [body])

    assert [copied_in(line) for line in lines_of(batches)] == [None] * len(lines_of(batches))


def test_frames_count_in_the_bytes_of_a_batch() -> None:
    (batch, *_) = batches_of(translator_of("legacy", "legacy", "sse"), LEGACY)

    assert batch.size == sum(map(len, batch.stored)) > len(LEGACY[0])


@pytest.mark.parametrize("line", [b'[1,"content","x",{},5]', b'[1,"content","x",{},"a","b"]', b"[1]"])
def test_copied_in_a_line_that_is_no_event_raises_unreadable_run(line: bytes) -> None:
    with pytest.raises(UnreadableRun):
        copied_in(line)


def test_with_copied_keeps_the_event_and_its_frames() -> None:
    line = with_copied(b'[1,"content","x",{}]', 'data: \u2028"x"\n\n'.encode(), 12)

    assert b"\n" not in line
    assert copied_in(line) == ('data: \u2028"x"\n\n'.encode(), 12)
