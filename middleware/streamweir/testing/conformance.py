"""The rules for every decoder, as tests that its author inherits."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from streamweir.capture import begins_capture, parse_captures
from streamweir.errors import ProtocolError
from streamweir.events import Content, Interaction, SessionEnd, Thinking
from streamweir.testing.stream import assert_valid_stream
from streamweir.translation.items import StreamItem, TextRun, ThoughtRun, items_of
from streamweir.translation.reader import StreamReader
from streamweir.translation.translator import Translator

__all__ = ["DecoderConformance", "cuts"]

_PIECES = (1, 1, 2, 3, 5, 8, 20, 100, 1000)

_MOST_CUTS = 100
"""The most truncations of one sample that are tried; they are evenly spread."""

_JUNK: Sequence[bytes] = (
    b"",
    b"\n\n\n",
    b"\xef\xbb\xbf",
    b"\x00\xff\xfe\x80\xc3",
    b"<!DOCTYPE html><html><body>502 Bad Gateway</body></html>",
    b"Internal Server Error",
    b"data: [DONE]\n\n",
    b": ping\n\n",
    b"null\n",
    b"[]\n",
    b"{}\n",
    b'data: {"type": null, "data": 1, "event": [], "id": {}}\n\n',
    b'{"type": {}, "choices": {}, "delta": 3, "error": [[]], "metadata": "x"}\n',
    b'data: {"a": ' + b"[" * 5000 + b"\n\n",
    b'data: {"n": 1e999, "m": NaN, "s": "\\ud83d", "i": ' + b"9" * 400 + b"}\n\n",
)
"""Bodies that are in no dialect, or are cut in the middle."""


def cuts(data: bytes, *, seed: int = 0) -> list[bytes]:
    """Return `data` in pieces, cut at places that depend only on `seed`; joined, the pieces equal `data`."""
    chance = random.Random(seed)
    pieces = []
    start = 0
    while start < len(data):
        end = start + chance.choice(_PIECES)
        pieces.append(data[start:end])
        start = end
    return pieces


class DecoderConformance:
    """A mix-in with the tests for a decoder: inherit it as `class TestAcme(DecoderConformance)`; pytest
    collects the tests.

    Class attributes:
        dialect: the name that the decoder is registered by.
        samples: complete streams of the dialect, as bytes or as paths of files: bodies, or captures.
        options: the dialect's options for the samples.
        ends_at_eof: the end of the body may be the end of a stream. If False, a sample that is cut before the
            evidence of its end must never end `completed`.
    """

    dialect: ClassVar[str]
    samples: ClassVar[Sequence[bytes | str | os.PathLike[str]]] = ()
    options: ClassVar[dict[str, str]] = {}
    ends_at_eof: ClassVar[bool] = False

    def test_gives_a_valid_stream_in_every_framing(self) -> None:
        """Check that the output of each sample keeps the protocol."""
        for body in self._bodies():
            for framing in ("sse", "ndjson", "json"):
                assert_valid_stream(self._translate([body], framing), framing=framing)

    def test_does_not_depend_on_how_the_network_cuts(self) -> None:
        """Check that the output is equal however the input is cut: whole, byte by byte, at random."""
        for body in self._bodies():
            whole = self._translate([body])
            assert self._translate([body[i : i + 1] for i in range(len(body))]) == whole, "byte by byte"
            for seed in range(10):
                assert self._translate(cuts(body, seed=seed)) == whole, f"cuts(sample, seed={seed})"

    def test_a_sample_ends_without_an_internal_error(self) -> None:
        """Check that each sample is understood as a stream of the dialect, however it ends."""
        for body in self._bodies():
            translator = self._translator()
            translator.feed(body)
            translator.close()
            assert translator.reason not in (None, "internal", "malformed"), translator.reason
            assert not translator.stream.reader.faults, "the decoder fails at a sample of its own"

    def test_a_truncated_sample_never_ends_completed(self) -> None:
        """Check that a stream which breaks off before the evidence of its end does not end `completed`."""
        for body in self._bodies():
            for end, is_half_a_line in _places(body):
                if self._has_evidence(body[:end]):
                    continue
                assert self._ending(body[:end], "fail") != "done", f"connection lost at byte {end}"
                if is_half_a_line or not self.ends_at_eof:
                    assert self._ending(body[:end], "close") != "done", f"body ends at byte {end}"

    def test_nothing_is_complete_while_text_is_still_to_come(self) -> None:
        """Check that evidence of the end comes neither before an event nor with a text that continues."""
        assert not self._reader().complete, "complete before anything has come"
        for body in self._bodies():
            early = _early_evidence(self._reader(), body)
            assert early is None, f"complete at byte {early}, and text follows"

    def test_raises_nothing_on_junk(self) -> None:
        """Check that foreign bytes, by themselves or in the middle of a sample, give a valid stream."""
        for junk in _JUNK:
            for body in (b"", *self._bodies()):
                middle = len(body) // 2
                for hostile in (junk + body, body[:middle] + junk + body[middle:], body + junk):
                    translator = self._translator()
                    output = translator.feed(hostile) + translator.close()
                    assert_valid_stream(output)
                    assert translator.reason != "internal", hostile[:200]
                    assert not translator.stream.reader.faults, hostile[:200]

    def _bodies(self) -> list[bytes]:
        return [body for sample in self.samples for body in _bodies_in(sample)]

    def _translator(self, framing: str = "sse") -> Translator:
        return Translator(
            speaks=self.dialect,
            framing=framing,
            request_id="req_1",
            session_id="sess_1",
            clock=lambda: 1_790_000_000_000,
            protocol_options={self.dialect: self.options},
        )

    def _reader(self) -> StreamReader:
        return self._translator().stream.reader

    def _translate(self, pieces: Iterable[bytes], framing: str = "sse") -> bytes:
        translator = self._translator(framing)
        return b"".join([*map(translator.feed, pieces), translator.close()])

    def _has_evidence(self, body: bytes) -> bool:
        translator = self._translator()
        translator.feed(body + b"\n\n")  # the last event counts without its blank line
        return translator.ended or translator.complete

    def _ending(self, body: bytes, how: str) -> Any:
        """Return how the stream ends after `body`, closed properly (`close`) or by a lost connection."""
        translator = self._translator()
        output = translator.feed(body)
        output += translator.close() if how == "close" else translator.fail("UPSTREAM_TRUNCATED")
        assert_valid_stream(output)
        return translator.reason


def _early_evidence(reader: StreamReader, body: bytes) -> int | None:
    """Return the position at which the stream became complete before more text; None if no text followed.

    A stream with an open question to a person counts as complete, with or without later events.
    """
    early: int | None = None
    has_begun = has_ended = False
    end = 0
    for line in body.splitlines(keepends=True):
        end += len(line)
        was_complete = reader.complete or has_ended
        try:
            items = [*items_of(reader.feed(line))]
        except ProtocolError:
            return None
        has_text = any(map(_is_text, items))
        if has_text and early is not None:
            return early
        has_ended = has_ended or any(isinstance(item, SessionEnd) for item in items)
        is_first = bool(items) and not has_begun
        asks = any(isinstance(item, Interaction) for item in items)
        if has_ended or (reader.complete and not was_complete and (has_text or is_first) and not asks):
            early = end
        elif not reader.complete:
            early = None
        has_begun = has_begun or bool(items)
    return None


def _is_text(item: StreamItem) -> bool:
    """Return whether an item is a piece of text that does not repeat earlier text."""
    if isinstance(item, Content | Thinking):
        return bool(item.content) and item.whole is None
    return isinstance(item, TextRun | ThoughtRun)


def _places(body: bytes) -> list[tuple[int, bool]]:
    """Return positions for cuts (ends of lines, middles of lines with JSON), each with whether a middle."""
    places = []
    start = 0
    for line in body.splitlines(keepends=True):
        if len(line.strip()) > 12 and line.rstrip().endswith((b"}", b"]", b'"')):
            places.append((start + len(line) // 2, True))
            places.append((start + len(line.rstrip()) - 1, True))
        start += len(line)
        places.append((start, False))
    step = max(1, len(places) // _MOST_CUTS)
    return places[:-1][::step]


def _bodies_in(sample: bytes | str | os.PathLike[str]) -> list[bytes]:
    """Return the body of a sample, or the bodies of the captures in it."""
    data = sample if isinstance(sample, bytes) else Path(sample).read_bytes()
    if not begins_capture(data.partition(b"\n")[0]):
        return [data]
    return [found.body for found in parse_captures(data.split(b"\n"))]
