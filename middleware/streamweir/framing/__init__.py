"""Bytes and frames: SSE, NDJSON, a JSON document. Synchronous, incremental, bounded."""

from streamweir.framing.frame import Frame, FrameParser
from streamweir.framing.ndjson import DocumentParser, NDJSONParser, write_ndjson
from streamweir.framing.sniff import SniffingParser
from streamweir.framing.sse import SSEParser, sse_writer, write_sse, write_sse_comment

__all__ = [
    "DocumentParser",
    "Frame",
    "FrameParser",
    "NDJSONParser",
    "SSEParser",
    "SniffingParser",
    "sse_writer",
    "write_ndjson",
    "write_sse",
    "write_sse_comment",
]
