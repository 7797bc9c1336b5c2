"""Parses faults: `name[@position][:argument]`, such as `stall@20:30s`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from streamweir.errors import ConfigurationError, did_you_mean
from streamweir.options.durations import parse_duration
from streamweir.options.sizes import parse_size
from streamweir_gateway.fake.corruption import DAMAGES
from streamweir_gateway.fake.faults import AT, CUT_CODINGS, END, FAULTS, Argument, Fault, FaultKind

__all__ = ["FaultError", "parse_fault", "parse_faults"]

_FAULT: Final = re.compile(r"([^@:\s]+)(?:@([^:]*))?(?::(.*))?", re.DOTALL)
_MAX_SIZE: Final = 1 << 40
_NUMBER: Final = re.compile(r"\d{1,12}", re.ASCII)
_ALONE: Final = frozenset({"transfer", "coding", "writes", "ending", "answer", "connection"})
_TOO_LONG_FOR_A_LENGTH: Final = ("endless-line", "stall")
_LENGTHS: Final = ("length-short", "length-long", "length-junk", "two-lengths")
_STATUSES: Final = {"status": range(200, 600), "redirect": range(300, 400)}


class FaultError(ConfigurationError):
    """The fault is unknown, or is impossible here."""


def parse_faults(texts: Iterable[str]) -> tuple[Fault, ...]:
    """Parse a list of faults.

    Raises:
        FaultError: a fault is written wrongly, or two faults exclude each other.
    """
    faults = tuple(parse_fault(text) for text in texts)
    _refuse_contradictions(faults)
    return faults


def parse_fault(text: str) -> Fault:
    """Parse one fault.

    Raises:
        FaultError: the fault is unknown or written wrongly; the message says why.
    """
    match = _FAULT.fullmatch(text.strip())
    name = match[1] if match else text.strip()
    kind = FAULTS.get(name)
    if match is None or kind is None:
        raise FaultError(f"unknown fault {name!r}{did_you_mean(name, FAULTS)}")
    return Fault(kind, _position(kind, match[2]), _argument(kind, match[3]))


def _position(kind: FaultKind, text: str | None) -> int | None:
    if not kind.has_position:
        if text is not None:
            raise FaultError(f"{kind.name} has no position: write {kind.example}")
        return None
    if text is None:
        return AT
    if text == "end" and kind.counts == "events":
        if kind.name in (*DAMAGES, "drip"):
            raise FaultError(f"{kind.name}@end: there is no event behind the last")
        return END
    if not _NUMBER.fullmatch(text):
        unit = "an event" if kind.counts == "events" else "a byte"
        raise FaultError(f"{kind.name}@{text}: the position is the number of {unit}, as in {kind.example}")
    return int(text)


def _argument(kind: FaultKind, text: str | None) -> float | None:
    if text is None:
        return kind.default
    if kind.argument is None:
        raise FaultError(f"{kind.name} takes no argument: write {kind.example}")
    try:
        value = _read(kind.argument, text)
    except ValueError:
        raise FaultError(
            f"{kind.name}:{text}: the argument is a {kind.argument}, as in {kind.example}"
        ) from None
    allowed = _STATUSES.get(kind.name)
    if allowed is not None and value not in allowed:
        raise FaultError(f"{kind.name}:{text}: the status is {allowed[0]} to {allowed[-1]}")
    return value


def _read(argument: Argument, text: str) -> float:
    match argument:
        case "duration":
            return parse_duration(text)
        case "size":
            size = parse_size(text)
            if size > _MAX_SIZE:
                raise ValueError("out of all proportion")
            return size
        case "status" | "count":
            if not _NUMBER.fullmatch(text):
                raise ValueError("no number")
            return int(text)


def _refuse_contradictions(faults: tuple[Fault, ...]) -> None:
    """Raise if two faults exclude each other, because one of them would silently not happen."""
    for index, fault in enumerate(faults):
        for other in faults[:index]:
            if problem := _contradiction(other, fault) or _contradiction(fault, other):
                raise FaultError(f"{other} and {fault} contradict each other: {problem}")
    names = {fault.name for fault in faults}
    if "retry-after" in names and "status" not in names:
        raise FaultError("retry-after goes with status, as in: status:429 retry-after:3s")


def _contradiction(one: Fault, other: Fault) -> str | None:
    places = one.kind.place, other.kind.place
    if places[0] == places[1] and places[0] in _ALONE:
        return f"there is one {places[0]} only"
    if one.name in CUT_CODINGS and places[1] == "ending":
        return "the body ends once"
    if places[0] == "connection":
        return f"with {one.name} there is no response"
    if places[0] == "answer" and places[1] not in ("head", "writes"):
        return f"with {one.name} there is no stream"
    if one.name == "no-end" and other.name in ("second-end", "after-end", "silence-after-end"):
        return "there is no end"
    if one.name == other.name and not one.kind.has_position:
        return "it happens once"
    if one.name in _LENGTHS and _has_no_length(other):
        return f"with {other.name} the body has no length"
    if one.name == "bad-chunk" and places[1] == "transfer" and other.name != "no-last-chunk":
        return f"with {other.name} there are no chunks"
    return _never_happens(one, other)


def _has_no_length(fault: Fault) -> bool:
    return fault.name in _TOO_LONG_FOR_A_LENGTH and fault.argument is None


def _never_happens(ending: Fault, other: Fault) -> str | None:
    """Return the reason why `other` cannot happen if `ending` ends the body earlier; None if it can."""
    is_ending = ending.kind.place == "ending" or ending.name in (*CUT_CODINGS, "error")
    if not is_ending or ending.kind.counts == "bytes" or ending.position in (None, END):
        return None
    if other.kind.group == "Ends of the run" and not other.kind.has_position:
        return f"{ending} comes before the run's end"
    if other.position is None or other.kind.counts == "bytes":
        return None
    if other.position == END or other.position > (ending.position or 0):
        return f"{ending} comes first, and nothing follows it"
    return None
