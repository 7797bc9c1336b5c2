"""The writer of a stored run for one client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamweir.codec.base import Options
from streamweir.codec.dialects import Dialects
from streamweir.errors import ConfigurationError
from streamweir.runs.stored_event import Source
from streamweir.translation.open_writer import Writer, open_framing, open_writer
from streamweir.translation.reader import StreamReader
from streamweir.translation.verbatim.copied_writer import CopiedWriter

__all__ = ["open_feed_writer"]


def open_feed_writer(  # noqa: PLR0913 (what there is to settle of a client and of a run)
    source: Source,
    *,
    answers: str,
    framing: str,
    request_id: str,
    dialects: Dialects,
    handle: str | None,
    other_options: Mapping[str, Mapping[str, Any]],
    is_whole: bool,
    follows: bool = False,
) -> Writer:
    """Return the writer of a stored run for one client.

    A client of the upstream's own dialect gets the stored frames, if the run has them and is read from its
    start. For any other client, or from a later position on, the run is written anew.

    Args:
        source: the source of the run.
        answers: the protocol of the client.
        framing: the framing of the client.
        request_id: the id of the run.
        dialects: the dialects of the process.
        handle: the handle of the run, for the ids of events; None: events have no ids.
        other_options: protocol options that are used if those of `source` are not valid here, because the run
            began under another configuration.
        is_whole: the client reads the run from its start.
        follows: the client takes the framing of the upstream.
    """
    try:
        options: Mapping[str, Options] = dialects.checked_options(source.options)
        reader = StreamReader(source.speaks, dialects=dialects, options=options)
    except ConfigurationError:
        options = dialects.checked_options(other_options)
        reader = StreamReader("auto", dialects=dialects)
    dialect = dialects.to_write(answers)
    if is_whole and framing != "json" and source.copies is not None and source.speaks == dialect.name:
        encoder = dialect.make_encoder(options.get(dialect.name, {}), room=reader.limits.event_bytes)
        encoder.names = source.names
        if follows or source.copies in (framing, open_framing(encoder, framing)):
            copies: Any = source.copies
            return CopiedWriter(dialect, encoder, copies, source=reader)
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
