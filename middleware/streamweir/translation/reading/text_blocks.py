"""Learns the bytes around the texts of one stream."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import msgspec

from streamweir.codec.growing_template import GrowingTemplate
from streamweir.codec.message_template import MessageTemplate, TextFields
from streamweir.framing import Frame, SniffingParser
from streamweir.framing.control_bytes import CR, LF
from streamweir.jsontext import valid_utf8
from streamweir.translation.reading.changing_surroundings import ChangingSurroundings, has_id
from streamweir.translation.reading.growing_surroundings import GrowingSurroundings
from streamweir.translation.reading.surroundings import Surroundings

__all__ = ["AnySurroundings", "TextBlocks", "may_begin_block", "usual_surroundings"]

AnySurroundings = Surroundings | ChangingSurroundings | GrowingSurroundings

_MOST_LEARNED: Final = 3
"""The most times that the surroundings of one template are learned: with a growing id they never fit."""

_LONGEST_UNREAD: Final = 4 << 10
"""The longest beginning of a block that is kept until the next read; a longer one goes to the parser."""

_PROBES: Final = 24
"""The number of blocks that are read one by one while there is no current template."""

_KEPT: Final = 4
"""The number of templates whose surroundings are kept."""

_UNKNOWN: Final[tuple[AnySurroundings | None, int]] = (None, 0)
_BLANK_LINE: Final = re.compile(rb"\n\n|\r\n\r\n|\r\r")
_USUAL_BEGIN: Final = re.compile(rb"(?:event: [^\r\n{]*\n)?data: ?")
"""The bytes of a block before its message."""
_LINE_END: Final = re.compile(rb"\r\n|\n|\r")


@lru_cache(maxsize=16)
def usual_surroundings(fields: TextFields) -> tuple[Surroundings, ...]:
    """Return the surroundings of the usual texts of a dialect in SSE, once for all streams."""
    known = fields.known
    return tuple(
        Surroundings.around(template, b"data: ", b"\n\n") for template in known if template.is_constant
    )


class TextBlocks(msgspec.Struct, eq=False):
    """Learns the surroundings of the texts of one stream, template by template.

    Per template, the surroundings are unknown, then known (`learn`). A text of the template with other
    surroundings is a miss: they are learned anew from that text. After three misses they stay unknown.
    """

    _learned: dict[MessageTemplate, tuple[AnySurroundings | None, int]] = {}
    """For each template its surroundings, and how often they were learned."""
    _probes: int = _PROBES

    def around(self, template: MessageTemplate | None) -> AnySurroundings | None:
        """Return the surroundings of the texts of a template; None if they are unknown."""
        return None if template is None else self._learned.get(template, _UNKNOWN)[0]

    def know(self, around: AnySurroundings) -> None:
        """Set surroundings that need not be learned."""
        learned = self._learned
        if len(learned) >= _KEPT:
            del learned[next(iter(learned))]
        learned[around.template] = around, 1

    def end_of_probe(
        self, template: MessageTemplate | None, data: bytes, begin: int, framing: str | None
    ) -> int:
        """Return the end of the next block if that block is worth learning from by itself; else the end of
        `data`.
        """
        if not self._probes if template is None else self.is_given_up(template):
            return len(data)
        is_line = framing != "sse" and (framing is not None or data.startswith((b"{", b"["), begin))
        end = _end_of_first(_LINE_END if is_line else _BLANK_LINE, data, begin)
        self._probes -= template is None and end < len(data)
        return end

    def learn(
        self, template: MessageTemplate, block: bytes, frame: Frame, parser: SniffingParser
    ) -> AnySurroundings | None:
        """Learn the surroundings from bytes that end with a frame which is a text of the template.

        Args:
            template: the current template.
            block: the bytes from one boundary to another. If they hold other frames, and surroundings are
                known, nothing is learned.
            frame: the last frame in them.
            parser: the parser of the body.

        Returns:
            The surroundings; None if they are unknown.
        """
        learned = self._learned
        if template not in learned and (usual := _usual_block(template, frame.data, block)) is not None:
            self.know(usual)
            return usual
        framing = parser.framing
        before = block.rpartition(frame.data)[0]  # the frames before it may be the same
        if before and self.around(template) is None and CR not in block:
            end = before.rfind(b"\n\n" if framing == "sse" else b"\n") + 1
            end += end > 0 and framing == "sse"
            block, before = block[end:], before[end:]
        if b"{" in before or (_BLANK_LINE if framing == "sse" else _LINE_END).search(before):
            return self.around(template)
        tries = learned.pop(template, _UNKNOWN)[1]
        known = None
        if tries < _MOST_LEARNED and valid_utf8(block) is block:
            known = _surroundings_of(template, frame, block, parser)
        if len(learned) >= _KEPT:
            del learned[next(iter(learned))]
        learned[template] = known, tries + 1
        return known

    def is_given_up(self, template: MessageTemplate) -> bool:
        """Return whether the surroundings of a template are not learned any more."""
        return self._learned.get(template, _UNKNOWN)[1] > _MOST_LEARNED


def _usual_block(template: MessageTemplate, data: bytes, block: bytes) -> Surroundings | None:
    """Return the surroundings of a message that is the last line of an SSE block without an id.

    Args:
        template: the template of the message.
        data: the message.
        block: the bytes from one boundary to another, the last of which are the block.
    """
    begin = len(block) - len(data) - 2
    if not (
        template.is_constant
        and not template.grows
        and block.endswith(b"\n\n")
        and block.startswith(data, begin)
    ):
        return None
    start = block.rfind(b"\n\n", 0, begin) + 2
    before = block[start if start > 1 else 0 : begin]
    is_usual = _USUAL_BEGIN.fullmatch(before) is not None and valid_utf8(block) is block
    return Surroundings.around(template, before, b"\n\n") if is_usual else None


def _surroundings_of(
    template: MessageTemplate, frame: Frame, block: bytes, parser: SniffingParser
) -> AnySurroundings | None:
    """Return the surroundings of the message of `frame` in its block; None if the message has no line end."""
    begin, found, end = block.rpartition(frame.data)
    if not (found and end):
        return None
    if isinstance(template, GrowingTemplate):
        return None if has_id(begin) else GrowingSurroundings(template, begin, end)
    if template.is_constant and not has_id(begin):
        return Surroundings.around(template, begin, end)
    return ChangingSurroundings(template, begin, end, parser.note_id)


def may_begin_block(data: bytes, around: AnySurroundings, framing: str | None) -> bool:
    """Return whether `data` may be the beginning of the block of a text with constant surroundings."""
    before = around.before
    if len(data) > _LONGEST_UNREAD or not (data.startswith(before) or before.startswith(data)):
        return False
    has_line_end = data.find(LF) >= 0 or data.find(CR) >= 0
    return not has_line_end or (_BLANK_LINE if framing == "sse" else _LINE_END).search(data) is None


def _end_of_first(pattern: re.Pattern[bytes], data: bytes, begin: int) -> int:
    """Return the end of the first match of `_LINE_END` or `_BLANK_LINE`; without one, that of `data`.

    The pattern takes thirty times as long per byte as `find`, so it is only used if there is a CR.
    """
    plain = b"\n" if pattern is _LINE_END else b"\n\n"
    at = data.find(plain, begin)
    if data.find(CR, begin, len(data) if at < 0 else at) < 0:
        return len(data) if at < 0 else at + len(plain)
    found = pattern.search(data, begin)
    return len(data) if found is None else found.end()
