"""Which writer a client gets."""

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
from streamweir.translation.verbatim.verbatim_writer import VerbatimWriter
from streamweir.translation.writer import StreamWriter

__all__ = ["Writer", "open_framing", "open_writer"]

_PARTS_OF_A_STREAM: Final = 4
"""A folded answer may have this part of the bytes of a stream."""

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
) -> Writer:
    """Return what writes one stream in a protocol.

    A protocol whose clients cannot read `framing` is written in its own.

    Args:
        protocol: a dialect that can be written.
        framing: `sse`, `ndjson`, or `json` for one folded result at the end.
        request_id: of the stream.
        options: by dialect, what it lets one choose when writing it; checked.
        dialects: in which its name is looked up; those of the process if not given.
        source: what the stream is read with.
        verbatim: hand on the frames of the upstream as they came, where it writes what the client reads.
        follows: the client takes the framing of the upstream then.
        run: the handle of a stream that is stored; its events have ids that it can be resumed by.
        names: what the client calls what it asks.

    Raises:
        UnknownDialectError: nobody can write it.
        ConfigurationError: `framing` is none of these.
    """
    if framing not in MEDIA_TYPES:
        raise ConfigurationError(f"unknown framing {framing!r} (one of: {', '.join(MEDIA_TYPES)})")
    dialect = (process_dialects() if dialects is None else dialects).to_write(protocol)
    room = None if source is None else source.limits.event_bytes
    encoder = dialect.make_encoder(options.get(dialect.name, NO_OPTIONS), room=room)
    encoder.names = names
    encoder.request_id = request_id
    if framing == "json":
        limit = LIMIT if source is None else source.limits.stream_bytes // _PARTS_OF_A_STREAM
        return FoldedWriter(request_id, encoder, limit=limit)
    chosen: Any = open_framing(encoder, framing)
    if run is not None:
        return RunWriter(dialect, encoder, chosen, source=source, run=run)
    if verbatim and source is not None and source.dialect in (None, dialect) and dialect.name != "standard":
        source.keep_frames(LINE_FRAMINGS if follows else {framing, chosen}, of=dialect)
        return VerbatimWriter(dialect, encoder, chosen, source=source, requested=framing, follows=follows)
    return StreamWriter(dialect, encoder, chosen, source)
