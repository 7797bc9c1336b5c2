"""Bytes and frames: SSE, NDJSON, a JSON document, plain text. Synchronous, incremental, bounded."""

from streamweir.framing.blocks import Block, BlockCutter, LineFraming, LineStyle, payload_of, with_payload
from streamweir.framing.frame import Frame, FrameParser
from streamweir.framing.lines import LinesParser
from streamweir.framing.media_types import MEDIA_TYPES, FramingChoice
from streamweir.framing.ndjson import DOCUMENT_STARTS, DocumentParser, NDJSONParser, write_ndjson
from streamweir.framing.sniff import SniffingParser
from streamweir.framing.sse import SSEParser, sse_writer, write_sse, write_sse_comment
from streamweir.framing.text_body import TextBodyParser

__all__ = [
    "DOCUMENT_STARTS",
    "MEDIA_TYPES",
    "Block",
    "BlockCutter",
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
    "payload_of",
    "sse_writer",
    "with_payload",
    "write_ndjson",
    "write_sse",
    "write_sse_comment",
]
