"""Chooses the writer of a client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from streamweir.codec.base import NO_OPTIONS, Encoder, Options
from streamweir.codec.client_names import NO_NAMES, ClientNames
from streamweir.codec.dialect import Dialect
from streamweir.codec.dialects import Dialects
from streamweir.codec.registry import process_dialects
from streamweir.errors import ConfigurationError
from streamweir.framing import LINE_FRAMINGS, MEDIA_TYPES
from streamweir.translation.fold import LIMIT
from streamweir.translation.folded_writer import FoldedWriter
from streamweir.translation.reader import StreamReader
from streamweir.translation.run_writer import RunWriter
from streamweir.translation.thought_writer import ThoughtWriter
from streamweir.translation.verbatim.verbatim_writer import VerbatimWriter
from streamweir.translation.writer import StreamWriter

__all__ = ["Writer", "open_framing", "open_writer"]

_PARTS_OF_A_STREAM: Final = 4
"""The limit of a folded answer is that of the stream divided by this."""

Writer: TypeAlias = StreamWriter | FoldedWriter


def open_framing(encoder: Encoder, framing: str) -> str:
    """Return the framing in which an encoder is written for a client that asks for `framing`."""
    return framing if framing in encoder.framings else encoder.framings[0]


def open_writer(  # noqa: PLR0913 (what there is to settle of a client)
    protocol: str | Dialect,
    framing: str,
    *,
    request_id: str,
    options: Mapping[str, Options] = NO_OPTIONS,
    dialects: Dialects | None = None,
    source: StreamReader | None = None,
    verbatim: bool = False,
    follows: bool = False,
    run: str | None = None,
    names: ClientNames = NO_NAMES,
    opened_at: int = 0,
) -> Writer:
    """Return a writer for one stream in a protocol.

    If clients of the protocol cannot read `framing`, its own framing is written.

    Args:
        protocol: a dialect that can be written.
        framing: `sse`, `ndjson`, or `json` for one folded result at the end.
        request_id: the id of the stream.
        options: the checked options for writing, by dialect.
        dialects: the set that `protocol` is looked up in; None: that of the process.
        source: the reader of the stream.
        verbatim: copy the frames of the upstream if it speaks the dialect and the framing of the client.
        follows: with `verbatim`, take the framing of the upstream.
        run: the handle of a stored stream, from which its events get ids.
        names: the names that the client used in its request.
        opened_at: Unix milliseconds of the request; 0 if unknown.

    Raises:
        UnknownDialectError: there is no such dialect, or it has no encoder.
        ConfigurationError: `framing` is unknown.
    """
    if framing not in MEDIA_TYPES:
        raise ConfigurationError(f"unknown framing {framing!r} (one of: {', '.join(MEDIA_TYPES)})")
    dialect = (process_dialects() if dialects is None else dialects).to_write(protocol)
    room = None if source is None else source.limits.event_bytes
    encoder = dialect.make_encoder(options.get(dialect.name, NO_OPTIONS), room=room)
    encoder.names = names
    encoder.request_id, encoder.opened_at = request_id, opened_at
    if framing == "json":
        limit = LIMIT if source is None else source.limits.stream_bytes // _PARTS_OF_A_STREAM
        return FoldedWriter(
            request_id, encoder, limit=limit, is_own=lambda: source is not None and source.dialect is dialect
        )
    chosen: Any = open_framing(encoder, framing)
    if run is not None:
        return RunWriter(dialect, encoder, chosen, source=source, run=run)
    if verbatim and source is not None and source.dialect in (None, dialect) and dialect.name != "standard":
        source.keep_frames(LINE_FRAMINGS if follows else (framing, chosen), of=dialect, shares=True)
        return VerbatimWriter(dialect, encoder, chosen, source, framing, follows)
    return ThoughtWriter(dialect, encoder, chosen, source)
