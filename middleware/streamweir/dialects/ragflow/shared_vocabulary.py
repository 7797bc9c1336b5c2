"""The words that the decoder and the encoder share: values of the options, a type of node."""

from __future__ import annotations

from typing import Final

__all__ = ["ANSWERS", "FORMS", "TOOL"]

FORMS: Final = ("auto", "agent", "chat", "openai")
ANSWERS: Final = ("auto", "delta", "cumulative")

TOOL: Final = "Tool"
"""The component type of the node for a tool call; the server itself has no such component."""
