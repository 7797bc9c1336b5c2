"""The writer of a stored run for one client."""

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
    """Return a writer.

    Args:
        source: of the run.
        answers: the protocol of the client.
        framing: of the client.
        request_id: of the run.
        dialects: of the process.
        handle: of the run, for the ids of events; None: events have no ids.
        other_options: protocol options that are used if those of `source` are not valid here, because the run
            began under another configuration.
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
