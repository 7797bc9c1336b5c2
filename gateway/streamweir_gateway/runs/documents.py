"""Handles a JSON document in place of a stream, for clients of the upstream's own dialect.

Source: the standard protocol 1.1, section 8.
"""

from __future__ import annotations

from streamweir.codec.dialect import Dialect
from streamweir.codec.dialects import Dialects
from streamweir.errors import StreamweirError
from streamweir.stages import ErrorSanitizer
from streamweir.translation.items import events_of
from streamweir.translation.reader import StreamReader
from streamweir.translation.verbatim.safe_frame import without_failures

__all__ = ["is_foreign_document", "safe_document"]


def is_foreign_document(data: bytes, reader: StreamReader, *, client: Dialect, dialects: Dialects) -> bool:
    """Return whether a document is known to be of another dialect than the client's.

    Args:
        data: the document.
        reader: the reader of the attempt; nothing is read with it.
        client: the dialect of the client.
        dialects: used to detect the dialect of the document if the configuration does not name it.
    """
    if reader.dialect is not None:
        return reader.dialect is not client
    trial = StreamReader("auto", dialects=dialects)
    try:
        for _ in (*events_of(trial.feed(data)), *events_of(trial.close())):
            pass
    except StreamweirError:
        pass
    return trial.dialect not in (None, client)


def safe_document(data: bytes) -> bytes:
    """Return a document of an unknown dialect; the texts of failures in its fields are removed."""
    is_code = ErrorSanitizer(debug=False).is_code
    return without_failures(data, is_code=is_code, is_unread=True) or data
