"""Counts bytecodes, which do not depend on the machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

__all__ = ["bytecodes_of"]


def bytecodes_of(step: Callable[[], object]) -> int:
    """Return the number of bytecodes that a step executes."""
    count = 0

    def note(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        if event == "call":
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        elif event == "opcode":
            count += 1
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        step()
    finally:
        sys.settrace(before)
    return count
