"""The parts that Gemini's API and the protocols around it share: files, code, and counts of tokens.

Source: the Gemini API (v1beta), `Part` and `UsageMetadata`; google-genai 1.5 `types.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.coerce import and_extra, leftover, text_of, tool_error
from streamweir.codec.standard_shapes import file_event, file_type
from streamweir.events import Data, Meta, ToolCallEnd, ToolCallStart
from streamweir.ids import made_call_id

__all__ = ["FINISH_REASONS", "TOKENS", "CodeRuns", "file_of"]

FINISH_REASONS: Final = {
    **dict.fromkeys(("STOP", "OTHER", "IMAGE_OTHER", "NO_IMAGE", "FINISH_REASON_UNSPECIFIED"), "stop"),
    "MAX_TOKENS": "length",
    **dict.fromkeys(
        (
            *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR"),
            *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
        ),
        "content_filter",
    ),
}
"""The finish reasons of the API, with the standard's finish reasons."""

TOKENS: Final = {
    "promptTokenCount": "prompt_tokens",
    "candidatesTokenCount": "completion_tokens",
    "totalTokenCount": "total_tokens",
}
"""The API's names of token counts, with the standard's names."""

_CODE: Final = "code_execution"


class CodeRuns:
    """Code that the model has written and the server has run, read as calls of a tool in their order.

    Attributes:
        request_id: the request id of the stream.
    """

    def __init__(self) -> None:
        self.request_id = ""
        self._count = 0

    def start(self, code: Mapping[str, Any], meta: Meta | None) -> ToolCallStart:
        """Return the start of the call for an `executableCode`."""
        self._count += 1
        return ToolCallStart(self._id(code), _CODE, arguments=dict(code), meta=meta)

    def end(self, result: Mapping[str, Any], meta: Meta | None) -> ToolCallEnd:
        """Return the end, with a `codeExecutionResult`, of the call that it names, else of the last."""
        tool_id, outcome = self._id(result), result.get("outcome")
        if outcome in (None, "OUTCOME_OK", "OUTCOME_UNSPECIFIED", 0, 1):  # numbers: enum-encoding=int
            rest = leftover(result, ("id", "outcome"))
            return ToolCallEnd(tool_id, result=rest, tool_name=_CODE, meta=meta)
        error = tool_error(result.get("output"), code=outcome)
        return ToolCallEnd(tool_id, "failed", error=error, tool_name=_CODE, meta=meta)

    def _id(self, fields: Mapping[str, Any]) -> str:
        return text_of(fields.get("id")) or made_call_id(self.request_id, f"code {self._count}")


def file_of(file: Mapping[str, Any], meta: Meta | None) -> Data:
    """Return the event for the file that `inlineData` holds or `fileData` points to."""
    media_type = text_of(file.get("mimeType")) or "application/octet-stream"
    data = {"media_type": media_type}
    if "data" in file:
        data["base64"] = text_of(file["data"])
    else:
        data["url"] = text_of(file.get("fileUri"))
    if name := text_of(file.get("displayName")):
        data["name"] = name
    rest = leftover(file, ("mimeType", "data", "fileUri", "displayName"))
    return file_event(file_type(media_type), data, and_extra(meta, rest))
