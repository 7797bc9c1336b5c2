"""Masks secrets in a body that arrives in reads: cut in two by the network, or spread over several frames.

Source: the contract of capture files, section 3.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from streamweir.capture.escaped_text import EscapedText, end_of_escape
from streamweir.capture.masking import SHORTEST, SecretMask, joined_spans, masked_text
from streamweir.capture.spread_text import Finders, SpreadTexts

__all__ = ["CutBodyMask", "MaskedRead"]

_LONGEST_LINE: Final = 64 << 10
"""The most bytes that are held back because a secret may continue in the next read."""
_MOST_HELD: Final = 8 << 10
"""The bytes of a longer line that remain held back, because a secret may begin in them.

Also the most bytes of whole lines that are held back, because a secret may continue in the next text.
"""
_MOST_LINES: Final = 1 << 10
"""The most bytes of earlier lines that are kept because they may say the name of the next line's value."""
_GOES_ON: Final = (":", ",", "[", "{", ">")
"""Ends of lines in printed JSON and XML behind which an object, a list or an element goes on."""


class MaskedRead(NamedTuple):
    """A read of a body without its secrets.

    Attributes:
        n: the number of the read.
        data: the masked bytes, as many as were read.
        redacted: the number of secrets that begin in this read.
    """

    n: int
    data: bytes
    redacted: int


class CutBodyMask:
    """Masks secrets in a body that arrives in reads, including secrets that are cut in two.

    A read is returned once its last line is complete and no text in it ends within a secret, or once there
    are too many bytes to wait for.

    Args:
        mask: finds secrets.

    Attributes:
        mask: the argument; it may be replaced.
    """

    def __init__(self, mask: SecretMask) -> None:
        self.mask = mask
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._context = b""
        """The part of the first held line that has been returned already."""
        self._lines = ""
        """The lines before that part, if the name of a secret in them may belong to a value behind them."""
        self._is_context_masked = False
        """Whether the last character of that part has been masked."""
        self._count = 0
        self._texts = SpreadTexts()

    @property
    def is_within_line(self) -> bool:
        """Whether the last line of the reads that are held back is not complete."""
        return bool(self._held) and not self._held[-1].endswith(b"\n")

    def feed(self, data: bytes) -> list[MaskedRead]:
        """Take a read; return the reads whose masking is final, in order."""
        self._held.append(data)
        self._held_bytes += len(data)
        if data.endswith(b"\n"):
            return self._release(len(self._held))
        if b"\n" in data:
            return self._release(len(self._held) - 1)
        return self._release(self._count_beyond(_MOST_HELD)) if self._held_bytes > _LONGEST_LINE else []

    def finish(self) -> list[MaskedRead]:
        """Return the reads that were held back, at the end of the body."""
        return self._release(len(self._held), is_last=True)

    def release(self) -> list[MaskedRead]:
        """Return the reads that were held back, before the end of the body.

        A known secret that begins at the end of these reads is masked too.
        """
        return self._release(len(self._held), goes_on=True, is_last=True)

    def break_off(self) -> list[MaskedRead]:
        """Return the reads that were held back, because the following reads are left out."""
        reads = self.release()
        self._context, self._lines = b"", ""
        self._texts.forget()
        return reads

    def _count_beyond(self, most: int) -> int:
        """Return how many of the oldest held reads can be released if at least `most` bytes stay held."""
        left, count = self._held_bytes, 0
        while left - len(self._held[count]) >= most:
            left -= len(self._held[count])
            count += 1
        return count

    def _release(self, count: int, *, goes_on: bool = False, is_last: bool = False) -> list[MaskedRead]:
        """Return the first `count` held reads, masked with regard to the reads that follow.

        Args:
            count: the most reads to return.
            goes_on: whether to mask a known secret that begins at the end of the held reads.
            is_last: whether to return all `count` reads, although a secret may continue in the next text.
        """
        if not count:
            return []
        mask = self.mask
        text = (self._context + b"".join(self._held)).decode("latin-1")
        spans = self._spans(text)
        spread = self._texts.find(text, Finders(mask.spread_spans, mask.spread_begun))
        if spread.spans:
            spans = joined_spans([*spans, *spread.spans])
        if goes_on and (begun := mask.begun_at_end(text)):
            spans = joined_spans([*spans, (len(text) - begun, len(text))])
        if spread.begun and not is_last and self._held_bytes <= _MOST_HELD:
            count = self._count_up_to(min(spread.begun)[0][0], count)
        elif goes_on or not is_last:
            likely = [span for begun in spread.begun if _letters(text, begun) >= SHORTEST for span in begun]
            spans = joined_spans([*spans, *likely]) if likely else spans
        spans_to_mask = self._spans_to_mask(text, spans) if spans else spans
        masked = masked_text(text, spans_to_mask).encode("latin-1") if spans else None
        found: list[MaskedRead] = []
        position = len(self._context)
        for read in self._held[:count]:
            end = position + len(read)
            begun = sum(position <= start < end and start not in spread.continued for start, _ in spans)
            found.append(MaskedRead(self._count, read if masked is None else masked[position:end], begun))
            self._count += 1
            position = end
        del self._held[:count]
        self._held_bytes = len(text) - position
        line = text.rfind("\n", 0, position) + 1
        self._texts.keep(line)
        before = (self._lines + text[:line])[-_MOST_LINES:]
        self._lines = before if before.rstrip().endswith(_GOES_ON) else ""
        self._context = text[line:position].encode("latin-1")[-_LONGEST_LINE:]
        self._is_context_masked = any(start < position <= end for start, end in spans_to_mask)
        return found

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Return the spans of the secrets in context and reads, with regard to the lines before them."""
        if not self._lines:
            return self.mask.spans(text)
        skipped = len(self._lines)
        found = self.mask.spans(self._lines + text)
        return [(max(0, start - skipped), end - skipped) for start, end in found if end > skipped]

    def _spans_to_mask(self, text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the spans, without the rest of an escape whose beginning has been returned unmasked.

        JSON with half an escape is no JSON.
        """
        if self._is_context_masked:
            return spans
        begin = end_of_escape(text, len(self._context))
        return [(max(begin, start), end) for start, end in spans if end > begin]

    def _count_up_to(self, place: int, count: int) -> int:
        """Return how many of the first `count` held reads end at a place in context and reads, or before."""
        end = len(self._context)
        for number, read in enumerate(self._held[:count]):
            end += len(read)
            if end > place:
                return number
        return count


def _letters(text: str, spans: list[tuple[int, int]]) -> int:
    """Return the number of characters in some spans of a text, each escape counted as one."""
    return sum(len(EscapedText(text[start:end]).text) for start, end in spans)
