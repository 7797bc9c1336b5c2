"""Bytes and frames: SSE, NDJSON, a JSON document, plain text. Synchronous, incremental, bounded."""

from streamweir.framing.frame import Frame, FrameParser
from streamweir.framing.line_style import LINE_FRAMINGS, LineFraming, LineStyle
from streamweir.framing.lines import LinesParser
from streamweir.framing.media_types import MEDIA_TYPES, FramingChoice
from streamweir.framing.ndjson import DOCUMENT_STARTS, DocumentParser, NDJSONParser, write_ndjson
from streamweir.framing.replaced_data import with_data
from streamweir.framing.sniff import SniffingParser
from streamweir.framing.sse import SSEParser
from streamweir.framing.sse_writing import LONE_COMMENT, sse_writer, write_sse
from streamweir.framing.text_body import TextBodyParser

__all__ = [
    "DOCUMENT_STARTS",
    "LINE_FRAMINGS",
    "LONE_COMMENT",
    "MEDIA_TYPES",
    "DocumentParser",
    "Frame",
    "FrameParser",
    "FramingChoice",
    "LineFraming",
    "LineStyle",
    "LinesParser",
    "NDJSONParser",
    "SSEParser",
    "SniffingParser",
    "TextBodyParser",
    "sse_writer",
    "with_data",
    "write_ndjson",
    "write_sse",
]
