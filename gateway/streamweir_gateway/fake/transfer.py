"""Delimits a body by chunks, by a length that may be wrong, or by the end of the connection."""

from __future__ import annotations

from typing import Final

from streamweir_gateway.fake.faults import Fault
from streamweir_gateway.fake.steps import Break, Raw, Send, Steps

__all__ = ["LENGTH_ERROR", "chunked", "ends_with_connection", "framing_headers", "has_length", "plain"]

LENGTH_ERROR: Final = 64
"""The number of bytes by which a wrong length differs from the right one."""


def ends_with_connection(fault: Fault | None) -> bool:
    """Return whether only the end of the connection delimits the body."""
    return fault is not None and fault.name != "no-last-chunk"


def has_length(fault: Fault | None) -> bool:
    """Return whether the headers contain the length of the body."""
    return fault is not None and fault.name in ("length-short", "length-long", "two-lengths")


def framing_headers(fault: Fault | None, size: int) -> list[str]:
    """Return the headers that delimit a body of `size` bytes."""
    match fault.name if fault else "":
        case "close-delimited":
            return ["Connection: close"]
        case "length-short":
            return [f"Content-Length: {max(size - LENGTH_ERROR, 0)}"]
        case "length-long":
            return [f"Content-Length: {size + LENGTH_ERROR}"]
        case "length-junk":
            return ["Content-Length: many"]
        case "two-lengths":
            return [f"Content-Length: {size}", f"Content-Length: {size + LENGTH_ERROR}"]
        case _:
            return ["Transfer-Encoding: chunked"]


def chunked(steps: Steps, *, has_last: bool) -> Steps:
    """Put each piece of the body into a chunk. A body that is cut breaks off within a chunk."""
    for step in steps:
        match step:
            case Send(b""):
                pass
            case Send(data):
                yield Raw(b"%x\r\n%s\r\n" % (len(data), data))
            case Break("stop"):
                break
            case Break("cut"):
                yield Raw(b"40\r\n")
                yield Break("close")
                return
            case _:
                yield step
                if isinstance(step, Break):
                    return
    yield Raw(b"0\r\n\r\n") if has_last else Break("close")


def plain(steps: Steps) -> Steps:
    """Leave the body unchanged; the connection ends with the body."""
    for step in steps:
        match step:
            case Send(data):
                yield Raw(data)
            case Break("stop" | "cut"):
                break
            case _:
                yield step
                if isinstance(step, Break):
                    return
    yield Break("close")
