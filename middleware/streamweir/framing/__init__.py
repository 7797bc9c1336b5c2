"""Bytes and frames: SSE, NDJSON, a JSON document. Synchronous, incremental, bounded."""

from streamweir.framing.frame import Frame, FrameParser
from streamweir.framing.media_types import MEDIA_TYPES, FramingChoice
from streamweir.framing.ndjson import DocumentParser, NDJSONParser, write_ndjson
from streamweir.framing.sniff import SniffingParser
from streamweir.framing.sse import SSEParser, sse_writer, write_sse, write_sse_comment

__all__ = [
    "MEDIA_TYPES",
    "DocumentParser",
    "Frame",
    "FrameParser",
    "FramingChoice",
    "NDJSONParser",
    "SSEParser",
    "SniffingParser",
    "sse_writer",
    "write_ndjson",
    "write_sse",
    "write_sse_comment",
]
