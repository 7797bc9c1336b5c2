"""A decoder that judges texts takes note of each of them once and in order, however the body is cut."""

from collections.abc import Iterable, Iterator
from typing import ClassVar

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamweir import Translator
from streamweir.codec.dialect import Dialect
from streamweir.codec.message_template import TextFields
from streamweir.dialects.legacy.decode import LegacyDecoder
from streamweir.events import Content, Event
from streamweir.framing import Frame, SSEParser
from streamweir.testing import cuts

TEXTS = st.lists(st.sampled_from(["word ", "another ", "<b> ", "\n", "哈"]), max_size=40)
TIMES = st.sampled_from([b"", b',"timestamp":%d'])
"""Blocks that differ in their texts only, and blocks that also differ in a time."""


class Judging(LegacyDecoder):
    """Decodes each text with a `<`."""

    text_fields: ClassVar[TextFields] = LegacyDecoder.text_fields

    def __init__(self) -> None:
        super().__init__()
        self.noted: list[str] = []

    def decode(self, frame: Frame) -> Iterator[Event]:
        for event in super().decode(frame):
            if isinstance(event, Content) and event.content:
                self.noted.append(event.content)
            yield event

    def accepts_text(self, text: str) -> bool:
        if "<" in text:
            return False
        self.noted.append(text)
        return True


def read(pieces: Iterable[bytes]) -> tuple[list[str], bytes]:
    """Return the texts that the decoder took note of, and the bytes for the client."""
    dialect = Dialect("judging", Judging)
    translator = Translator(speaks=dialect, request_id="req_1", session_id="s", clock=lambda: 5)
    decoder = translator.stream.reader.frames.decoder
    assert isinstance(decoder, Judging)
    written = b"".join([*map(translator.feed, pieces), translator.close()])
    return decoder.noted, written


@pytest.mark.parametrize("form", [b"data: %b\n\n", b"%b\n"], ids=["sse", "ndjson"])
@given(texts=TEXTS, time=TIMES, seed=st.integers(0, 9))
def test_judged_texts_are_noted_once_however_they_are_cut(
    form: bytes, texts: list[str], time: bytes, seed: int
) -> None:
    blocks = []
    for number, text in enumerate(texts):
        behind = time and time % number
        blocks.append(form % (b'{"type":"token","content":%b%b}' % (orjson.dumps(text), behind)))
    blocks.append(form % b'{"type":"done"}')
    body = b"".join(blocks)
    alone = read(blocks)
    assert alone[0] == texts
    assert read([body]) == alone
    assert read(cuts(body, seed=seed)) == alone


def test_judged_text_that_is_a_read_is_no_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = [b'data: {"type":"token","content":"word%d "}\n\n' % number for number in range(9)]
    noted: list[bytes] = []
    translator = Translator(speaks=Dialect("judging", Judging))
    for block in blocks[:4]:
        translator.feed(block)
    monkeypatch.setattr(SSEParser, "feed", lambda _, data: noted.append(data))
    for number, block in enumerate(blocks[4:], 4):
        assert b"word%d " % number in translator.feed(block)
    assert not noted
