"""What writes a stored run for one client, as it has to be written that was read with a certain source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamweir.codec.base import Options
from streamweir.codec.dialects import Dialects
from streamweir.errors import ConfigurationError
from streamweir.runs.stored_event import Source
from streamweir.translation.open_writer import Writer, open_writer
from streamweir.translation.reader import StreamReader

__all__ = ["open_feed_writer"]


def open_feed_writer(
    source: Source,
    *,
    answers: str,
    framing: str,
    request_id: str,
    dialects: Dialects,
    handle: str | None,
    other_options: Mapping[str, Mapping[str, Any]],
) -> Writer:
    """Return what writes a run.

    Args:
        source: what the run is read with.
        answers: the client's protocol.
        framing: likewise.
        request_id: of the run.
        dialects: those of the process.
        handle: of the run, for its ids; None: it has none.
        other_options: in force where those of `source` cannot be: it began under another configuration.
    """
    try:
        options: Mapping[str, Options] = dialects.checked_options(source.options)
        reader = StreamReader(source.speaks, dialects=dialects, options=options)
    except ConfigurationError:
        options = dialects.checked_options(other_options)
        reader = StreamReader("auto", dialects=dialects)
    return open_writer(
        answers,
        framing,
        request_id=request_id,
        options=options,
        dialects=dialects,
        source=reader,
        run=handle,
        names=source.names,
    )
