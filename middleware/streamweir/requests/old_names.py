"""The names that old clients use for the canonical fields.

Source: the request contract, section 3.
"""

from __future__ import annotations

from typing import Final

__all__ = ["INPUTS", "MESSAGES", "THREADS"]

MESSAGES: Final = (
    *("query", "question", "input", "prompt", "text"),
    *("content", "user_question", "user_prompt"),
)
"""Old names of `message`, the likeliest first."""

THREADS: Final = (
    *("conversation_id", "session_id", "chat_id"),
    *("threadId", "conversationId", "sessionId", "chatId"),
)
"""Old names of `thread_id`."""

INPUTS: Final = ("variables",)
"""Old names of `inputs`."""
