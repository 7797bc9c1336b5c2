"""Writes runs of thoughts that are messages of their own into a template, as `StreamWriter` writes texts."""

from __future__ import annotations

from streamweir.events import Stamp
from streamweir.stages import TextDeduplication
from streamweir.translation.items import ThoughtRun
from streamweir.translation.sink import EventSink
from streamweir.translation.writer import StreamWriter

__all__ = ["ThoughtWriter", "write_at_once"]


class ThoughtWriter(StreamWriter):
    """The writer of a stream that is neither stored nor copied."""

    def write_thoughts(self, run: ThoughtRun, stamp: Stamp) -> bool:
        """Write the thoughts of a run at once; return False if each of them has to be given to `write`.

        Args:
            run: the thoughts.
            stamp: the stamp of the first thought; each further one has the next sequence number.
        """
        own = self._own(stamp) if self.added else stamp
        template = self._encoder.thought_template(run.event, own) if self._writes_blocks else None
        if template is None:
            return False
        self._template, self._may_fail_whole = None, False
        self._out.append(template.write(run.texts, run.ids, own))
        return True


def write_at_once(run: ThoughtRun, sink: EventSink | None, texts: TextDeduplication, stamp: Stamp) -> bool:
    """Write thoughts that all stages pass unchanged; return False if they have to be pushed.

    Args:
        run: the thoughts.
        sink: the only sink of the stream; None if there are several.
        texts: the stage that remembers texts.
        stamp: the stamp of the first thought; each further one has the next sequence number.
    """
    if isinstance(sink, ThoughtWriter) and texts.may_defer and sink.write_thoughts(run, stamp):
        texts.defer(run.event, run.ids, run.texts, run.room)
        return True
    return False
