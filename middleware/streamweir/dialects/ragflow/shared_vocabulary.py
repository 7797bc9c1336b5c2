"""The words that reader and writer share: values of the options, a type of node."""

from __future__ import annotations

from typing import Final

__all__ = ["ANSWERS", "FORMS", "TOOL"]

FORMS: Final = ("auto", "agent", "chat", "openai")
ANSWERS: Final = ("auto", "delta", "cumulative")

TOOL: Final = "Tool"
"""The component type under which a tool call is written; the server has no such component."""
