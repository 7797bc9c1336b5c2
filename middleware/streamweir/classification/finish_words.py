"""Finish words of many servers: why a model stopped.

Source: the standard protocol 1.1, section 3 rule 8 (not an end) and section 2 (`finish_reason`). The words
are those of OpenAI, Azure, Anthropic, Gemini, Bedrock, Cohere, Mistral, Ollama, vLLM, SGLang, TGI, DeepSeek
and GLM. Only the letters of words are compared: `MAX_TOKENS` and `maxTokens` are one word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

__all__ = ["code_of_finish", "is_broken_off", "is_finish_word", "standard_finish"]

_NO_WORDS: Final[Mapping[str, str]] = {}
_LONGEST: Final = 64
"""The longest text that is looked up; longer texts are sentences."""

_NO_LETTERS: Final = re.compile(r"[^a-z]")
_PREFIX: Final = "finishreason"
"""The prefix of enumeration members that Python servers write: `FinishReason.STOP`."""

_FAILED: Final = frozenset({"error", "failed", "internalerror"})
_BROKEN_OFF: Final = frozenset(
    {
        *("abort", "aborted", "cancelled", "canceled", "interrupted", "timeout"),
        *("networkerror", "insufficientsystemresource", "malformedfunctioncall"),
    }
)
_STANDARD: Final[Mapping[str, str]] = {
    **dict.fromkeys(("stop", "end", "eos", "eostoken", "endturn", "stopsequence", "stopstring"), "stop"),
    **dict.fromkeys(("complete", "completed", "done", "finished", "success", "normal"), "stop"),
    **dict.fromkeys(("length", "maxtokens", "maxlength", "modellength", "maxoutputtokens"), "length"),
    **dict.fromkeys(("modelcontextwindowexceeded", "tokenlimit"), "length"),
    **dict.fromkeys(("toolcalls", "toolcall", "tooluse", "functioncall", "functioncalls"), "tool_calls"),
    **dict.fromkeys(("sensitive", "contentfilter", "contentfiltered", "safety", "refusal"), "content_filter"),
    **dict.fromkeys(("prohibitedcontent", "blocklist", "spii", "recitation"), "content_filter"),
    **dict.fromkeys(("guardrailintervened", "imagesafety"), "content_filter"),
}
_USUAL: Final[Mapping[str, str]] = {
    **{word: word for word in ("stop", "length", "content_filter", "tool_calls")},
    **dict.fromkeys(("end_turn", "stop_sequence"), "stop"),
    "max_tokens": "length",
    "tool_use": "tool_calls",
}
"""The words of most servers, which are found without comparing letters."""


def code_of_finish(word: object) -> str | None:
    """Return the error code for a finish word; None if the word does not mean a failure."""
    if type(word) is str and word in _USUAL:
        return None
    letters = _letters(word)
    if letters in _FAILED:
        return "UPSTREAM_ERROR"
    return "UPSTREAM_TRUNCATED" if letters in _BROKEN_OFF else None


def is_broken_off(word: object) -> bool:
    """Return whether a finish word means that the run was broken off."""
    return code_of_finish(word) is not None


def standard_finish(word: str, listed: Mapping[str, str] = _NO_WORDS) -> str:
    """Return the standard's `finish_reason` for a finish word.

    Args:
        word: the word of the server.
        listed: the meanings of the dialect's own words, in exact spelling; they take precedence.

    Returns:
        `stop`, `length`, `content_filter` or `tool_calls`; `word` itself if no list has it.
    """
    return listed.get(word) or _USUAL.get(word) or _STANDARD.get(_letters(word), word)


def is_finish_word(word: object) -> bool:
    """Return whether `word` is a known finish word, which may be shown."""
    letters = _letters(word)
    return letters in _STANDARD or letters in _FAILED or letters in _BROKEN_OFF


def _letters(word: object) -> str:
    if not isinstance(word, str) or len(word) > _LONGEST:
        return ""
    return _NO_LETTERS.sub("", word.lower()).removeprefix(_PREFIX)
