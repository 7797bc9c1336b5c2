"""Reads blocks of thoughts that are messages of their own by the bytes around their texts and ids.

data: {"result":{"status":{"state":"working","message":{"messageId":"m-1","parts":[{"text":"Reading"}]}}}}
      ─────────────────────────────────────────────────────────────     ─────────────────         ────────
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Final

from streamweir.codec.current_template import MessageTemplates
from streamweir.codec.thought_template import ThoughtTemplate
from streamweir.framing import SniffingParser
from streamweir.framing.event_names import name_of
from streamweir.translation.items import FrameItems, ThoughtRun
from streamweir.translation.reading.frame_reader import FrameReader
from streamweir.translation.reading.separator import Separator

__all__ = ["ThoughtReader", "may_begin_thought"]

_BEGIN: Final = re.compile(rb"(?:event: ([^\r\n{]{0,64}+)\r?\n)?data: ?")
"""The bytes of a block before its message, with an event name that is not long."""
_BLANK_LINE: Final = re.compile(rb"\n\r?\n")
_LONGEST_BEGIN: Final = 128
"""The most bytes at the beginning of a block in which its message is looked for."""


class ThoughtReader:
    """Reads the thoughts of one stream while a template of them is in force (`ThoughtTemplates`).

    Args:
        frames: reads the frames of the body.
    """

    __slots__ = ("_blocks", "_frames")

    def __init__(self, frames: FrameReader) -> None:
        self._frames = frames
        self._blocks: _ThoughtBlocks | None = None

    def template_for(self, parser: SniffingParser) -> ThoughtTemplate | None:
        """Return the template by which the next thoughts of a body may be read; None if none may be."""
        thoughts = self._frames.templates.thoughts
        if thoughts is None or not self._frames.is_under_way or parser.keeps_raw or parser.framing != "sse":
            return None
        return thoughts.current or thoughts.learn()

    def read_begin(
        self, data: bytes, parser: SniffingParser, read_rest: Callable[[bytes], Iterable[FrameItems]]
    ) -> Iterable[FrameItems] | None:
        """Read the thoughts at the beginning of a read; return None if it begins otherwise.

        Args:
            data: the read.
            parser: the parser of the body.
            read_rest: reads the bytes behind the thoughts; it is called once these have been taken.
        """
        template = self.template_for(parser)
        run, stop = (None, 0) if template is None else self.read(template, data, 0, parser)
        if run is None:
            return None
        begun: Sequence[FrameItems] = (([run], None),)
        if stop == len(data):
            return begun
        return chain(begun, chain.from_iterable(map(read_rest, (data[stop:],))))

    def read(
        self, template: ThoughtTemplate, data: bytes, begin: int, parser: SniffingParser
    ) -> tuple[ThoughtRun | None, int]:
        """Return the consecutive thoughts from `begin` on, and where the last of them ends.

        The thoughts are None if the parser has to read the bytes up to that end.

        Args:
            template: that of `template_for`.
            data: one read.
            begin: the beginning of a block in it, or of what is missing from the block before.
            parser: the parser of the body.
        """
        decoder = self._frames.decoder
        assert decoder is not None
        if not parser.is_at_boundary:
            return None, _end_of_block(data, begin)
        blocks = self._blocks
        if blocks is None or blocks.template is not template or not data.startswith(blocks.before, begin):
            blocks = self._blocks = _blocks_at(begin, data, template)
            if blocks is None:
                return None, _end_of_block(data, begin)
        run, stop = blocks.run_in(data, begin)
        count = 0 if run is None else decoder.accepts_thoughts(run.ids, run.texts)
        if run is None or not count:
            return None, len(data)
        if count == len(run.texts):
            return run, stop
        return run.begins(count), blocks.end_of(count, data, begin)


class _ThoughtBlocks:
    """The bytes around the messages of one template.

    Args:
        template: the template of the messages.
        begin: the bytes of a block before its message.
        end: the bytes of a block after its message.

    Attributes:
        template: the argument.
        before: the bytes of a block before the first value that changes.
    """

    __slots__ = ("_after", "_end", "_separator", "before", "template")

    def __init__(self, template: ThoughtTemplate, begin: bytes, end: bytes) -> None:
        self.template = template
        self.before = begin + template.first
        self._after = template.last + end
        self._end = end
        self._separator = Separator(self._after + self.before)

    def run_in(self, data: bytes, begin: int) -> tuple[ThoughtRun | None, int]:
        """Return the consecutive thoughts from `begin` on, and where the last of them ends; None if the first
        block does not fit.
        """
        end = self._end
        stop = data.rfind(end, begin) + len(end)
        if stop < begin + len(end) or not data.startswith(self.before, begin):
            return None, begin
        if (run := self._run_of(data[begin:stop])) is not None:
            return run, stop
        at = begin
        while at < stop and data.startswith(self.before, at):
            at = data.find(end, at) + len(end)
        return (None, begin) if at == stop else (self._run_of(data[begin:at]), at)

    def end_of(self, blocks: int, data: bytes, begin: int) -> int:
        """Return the end position of this many whole blocks from `begin` on."""
        for _ in range(blocks):
            begin = data.find(self._end, begin) + len(self._end)
        return begin

    def _run_of(self, data: bytes) -> ThoughtRun | None:
        """Return the thoughts of bytes that consist of such blocks; None for any other bytes."""
        if len(data) < len(self.before) + len(self._after) or not data.endswith(self._after):
            return None
        messages = self._separator.split(data[len(self.before) : len(data) - len(self._after)])
        if messages is None:
            return None
        found = self.template.thoughts_in(messages)
        return None if found is None else ThoughtRun(self.template.event, *found)


def may_begin_thought(data: bytes, templates: MessageTemplates) -> bool:
    """Return whether a read may begin with a thought."""
    thoughts = templates.thoughts
    if thoughts is None or (template := thoughts.current) is None:
        return False
    return data.find(template.first, 0, len(template.first) + _LONGEST_BEGIN) >= 0


def _blocks_at(begin: int, data: bytes, template: ThoughtTemplate) -> _ThoughtBlocks | None:
    """Return the bytes around the messages of a template in blocks like the one at `begin`."""
    found = _BEGIN.match(data, begin)
    if found is None or not data.startswith(template.first, found.end()):
        return None
    name = found.group(1)
    line_end = data.find(b"\n", found.end())
    if line_end < 0 or (None if name is None else name_of(name)) != template.name:
        return None
    end = b"\r\n\r\n" if data.startswith(b"\r", line_end - 1) else b"\n\n"
    if not data.startswith(end, line_end + 1 - len(end) // 2):
        return None
    return _ThoughtBlocks(template, found.group(), end)


def _end_of_block(data: bytes, begin: int) -> int:
    """Return the end of the block at `begin`; the end of `data` if it is not whole."""
    found = _BLANK_LINE.search(data, begin)
    return len(data) if found is None else found.end()
