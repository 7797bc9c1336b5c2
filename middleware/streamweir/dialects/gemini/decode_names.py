"""Converts the names of fields in snake_case, which servers write if they dump Google models without aliases.

Source: google-genai 1.5 (`types.py`): `model_dump_json()` without `by_alias=True`; protobuf's JSON mapping
allows both names.
"""

from __future__ import annotations

import re
from typing import Any, Final

from streamweir.codec.camel_case import by_snake_case, with_own_names

__all__ = ["has_snake_case", "in_camel_case"]

_NAMES: Final = (
    *("usageMetadata", "modelVersion", "responseId", "promptFeedback", "createTime", "blockReason"),
    *("blockReasonMessage", "safetyRatings", "finishReason", "finishMessage", "tokenCount", "avgLogprobs"),
    *("logprobsResult", "citationMetadata", "groundingMetadata", "citationSources", "groundingChunks"),
    *("retrievedContext", "documentName", "functionCall", "functionResponse", "executableCode"),
    *("codeExecutionResult", "inlineData", "fileData", "mimeType", "fileUri", "displayName"),
    *("thoughtSignature", "partialArgs", "willContinue", "promptTokenCount", "candidatesTokenCount"),
    *("totalTokenCount", "thoughtsTokenCount", "cachedContentTokenCount", "toolUsePromptTokenCount"),
    *("webSearchQueries", "groundingSupports", "groundingChunkIndices", "confidenceScores", "startIndex"),
    *("endIndex", "partIndex", "searchEntryPoint", "renderedContent", "retrievalMetadata"),
    *("toolCall", "toolResponse", "toolType", "jsonPath", "stringValue", "numberValue", "boolValue"),
)
_KNOWN: Final = by_snake_case(_NAMES)
_APPLICATION: Final = frozenset({"args", "response"})
"""The fields whose objects belong to the application: arguments and results of functions."""

_ANY: Final = re.compile(b'"(?:%s)"' % "|".join(_KNOWN).encode())
_DEPTH: Final = 10
"""The greatest depth of a field of the API."""


def has_snake_case(data: bytes) -> bool:
    """Return whether `data` holds a field's name in snake_case, or a text that looks like such a name."""
    return b"_" in data and _ANY.search(data) is not None


def in_camel_case(value: Any, depth: int = 0) -> Any:
    """Return a response whose fields have the API's own names; see `with_own_names`."""
    if depth >= _DEPTH:
        return value
    if isinstance(value, list):
        return [in_camel_case(item, depth + 1) for item in value]
    if not isinstance(value, dict):
        return value
    return with_own_names(
        value, _KNOWN, lambda own, held: held if own in _APPLICATION else in_camel_case(held, depth + 1)
    )
