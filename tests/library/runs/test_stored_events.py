"""Stored events hold all fields of the events: a later client gets the same bytes as an earlier one."""

from collections.abc import Iterator, Sequence

import pytest

from cases import for_each
from streams import Recorded, dialect_of, recorded_streams
from streamweir import convert
from streamweir.codec.registry import process_dialects
from streamweir.events import Event, Stamp
from streamweir.runs.closing import lost_end
from streamweir.runs.event_log import Batch, EventLog
from streamweir.runs.stored_event import EventReader, Source, UnreadableRun
from streamweir.testing import check_stream, cuts
from streamweir.translation.items import TextRun
from streamweir.translation.normalizer import StreamNormalizer
from streamweir.translation.pipeline import Pipeline
from streamweir.translation.reader import StreamReader
from streamweir.translation.run_writer import RunWriter

RUN = "run_" + "0" * 32
REQUEST_ID = "req_1"


def _batches(recorded: Recorded, pieces: Sequence[bytes]) -> list[Batch]:
    """Return the batches of a stream, one for each read."""
    dialects = process_dialects()
    options = dialects.checked_options({recorded.dialect: recorded.options})
    reader = StreamReader(recorded.dialect, dialects=dialects, options=options)
    log = EventLog(lambda: Source(recorded.dialect, options))
    pipeline = Pipeline(
        (log,), request_id=REQUEST_ID, clock=lambda: 1_790_000_000_000, stream_tool_arguments=True
    )
    stream = StreamNormalizer(reader, pipeline)
    batches = []
    for piece in pieces:
        stream.feed(piece)
        batches.append(log.take())
    stream.close()
    batches.append(log.take())
    return [batch for batch in batches if batch is not None]


def _writer(protocol: str, source: Source) -> RunWriter:
    dialects = process_dialects()
    dialect = dialects.to_write(protocol)
    options = dialects.checked_options(source.options)
    encoder = dialect.make_encoder(options.get(dialect.name, {}))
    reader = StreamReader(source.speaks, dialects=dialects, options=options)
    return RunWriter(dialect, encoder, encoder.framings[0], source=reader, run=RUN)


def _written(writer: RunWriter, item: Event | TextRun, stamp: Stamp) -> bytes:
    if isinstance(item, TextRun):
        writer.write_run(item.event, item.texts, stamp)
    else:
        writer.write(item, stamp)
    return writer.take()


def _live(protocol: str, batches: Sequence[Batch], source: Source) -> bytes:
    writer = _writer(protocol, source)
    return b"".join(_written(writer, item, stamp) for batch in batches for stamp, item in batch.items or ())


def _stored(protocol: str, lines: Sequence[bytes]) -> Iterator[bytes]:
    """Return the bytes that a client gets for each page of stored events."""
    reader = EventReader()
    writer: RunWriter | None = None
    at = 0
    for start in range(0, len(lines), 7):
        for timestamp, item in reader.items(lines[start : start + 7]):
            writer = writer or _writer(protocol, reader.source)
            yield _written(writer, item, Stamp(REQUEST_ID, at, timestamp))
            at += len(item.texts) if isinstance(item, TextRun) else 1
    assert at == len(lines)


@pytest.mark.slow
@for_each("recorded", recorded_streams(), group=dialect_of)
def test_stored_run_is_written_in_every_protocol_as_the_live_stream_was(recorded: Recorded) -> None:
    batches = _batches(recorded, cuts(recorded.body, seed=7))
    lines = [line for batch in batches for line in batch.stored]
    assert [batch.at for batch in batches] == [
        sum(len(batch.stored) for batch in batches[:i]) for i in range(len(batches))
    ]
    reader = EventReader()
    for _ in reader.items(lines[:1]):
        pass
    for protocol in process_dialects():
        if process_dialects()[protocol].writes:
            live = _live(protocol, batches, reader.source)
            assert b"".join(_stored(protocol, lines)) == live, protocol


@pytest.mark.parametrize("protocol", process_dialects().writable)
def test_stream_without_a_run_contains_no_handle(protocol: str) -> None:
    ends_well = [recorded for recorded in recorded_streams() if recorded.dialect == "legacy"]
    assert ends_well
    for recorded in ends_well:
        batches = _batches(recorded, [recorded.body])
        lines = [line for batch in batches for line in batch.stored]
        b"".join(_stored(protocol, lines))
        plain = convert(recorded.body, speaks="legacy", answers=protocol)
        assert b"run_0000" not in plain, recorded


@for_each("recorded", recorded_streams()[::5], group=dialect_of)
def test_lost_end_makes_a_valid_stream_of_a_run_cut_anywhere(recorded: Recorded) -> None:
    batches = _batches(recorded, [recorded.body])
    lines = [line for batch in batches for line in batch.stored][:-1]
    for end in range(0, len(lines), max(1, len(lines) // 8)):
        kept = lines[:end]
        closing = lost_end(kept, request_id=REQUEST_ID)
        body = b"".join(_stored("standard", [*kept, *closing]))
        assert check_stream(body) == []
        assert b'"code":"RUN_LOST"' in body
        assert body.count(b'data: {"type":"session_end"') == 1


@pytest.mark.parametrize(
    "line",
    [b"", b"{}", b"[1]", b'[1,"nothing",null,{}]', b'[1,"content","x",[]]', b'[1,"content","x",{"op":1}]'],
)
def test_line_that_is_no_event_raises_unreadable_run(line: bytes) -> None:
    with pytest.raises(UnreadableRun):
        list(EventReader().items([line]))
