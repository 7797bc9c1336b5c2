"""Masks the secrets in the log of one stream, entry by entry, before the log is shown or stored.

    state    entered by                                       left by
    ──────   ──────────────────────────────────────────────   ──────────────────────────────────────────────
    raw      `raw.append`                                     `work`
    held     `work`, for a read or a write whose last line    the rest of the line, `release`, `finish`
             is not complete: a secret may go on in the
             next one
    masked   the end of the line; for other entries `work`    —

Source: the contract of capture files, section 3.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final

from streamweir.capture.cut_body_mask import CutBodyMask, MaskedRead
from streamweir.capture.masking import SecretMask
from streamweir.capture.writing import recorded_headers
from streamweir_gateway.console.entry_parts import LANE_OF_PART
from streamweir_gateway.console.recorded_heads import head_fields, secrets_of_head
from streamweir_gateway.console.stream_log import GONE, Entry

__all__ = ["LogMask", "shown_event"]

_ADDRESSES: Final = ("url", "target")


def shown_event(entry: Entry, mask: SecretMask) -> Entry:
    """Return an entry of a log; if it is an event without content, the secrets in its ids are masked."""
    if entry[0] != "kind" or not entry[5]:
        return entry
    ids = {
        name: mask.apply_to_text(value) if isinstance(value, str) else value
        for name, value in entry[5].items()
    }
    return (*entry[:5], ids, *entry[6:])


class LogMask:
    """The entries of one stream that are not masked yet.

    Args:
        mask: finds the secrets of the configuration.
        on_full: called when many bytes wait to be masked.

    Attributes:
        raw: the entries that may hold secrets, in order. The last element of an entry is set when the entry
            is masked.
        is_over: whether the log has got its last entry.
        has_begun: whether `work` has masked any entry.
    """

    __slots__ = ("_held", "_lanes", "_mask", "_on_full", "has_begun", "is_over", "raw")

    def __init__(self, mask: SecretMask, on_full: Callable[[LogMask], None]) -> None:
        self.is_over = self.has_begun = False
        self._mask = mask
        self._on_full = on_full
        self.raw: deque[list[Any]] = deque()
        self._lanes: dict[str, CutBodyMask] = {}
        self._held: dict[str, deque[list[Any]]] = {}

    @property
    def secrets(self) -> SecretMask:
        """The mask that finds the secrets known so far."""
        return self._mask

    def note_more(self) -> None:
        """Note that many bytes wait to be masked, although the stream goes on."""
        self._on_full(self)

    @property
    def has_work(self) -> bool:
        """Whether `work` would mask any entry."""
        return bool(self.raw) or (self.is_over and any(self._held.values()))

    @property
    def held_since(self) -> float | None:
        """The time of the oldest entry that is held back; None if no entry is held back."""
        return min((held[0][1] for held in self._held.values() if held), default=None)

    @property
    def is_within_line(self) -> bool:
        """Whether the last line of an entry that is held back is not complete."""
        return any(lane.is_within_line for lane in self._lanes.values())

    def work(self, most: int) -> None:
        """Mask the oldest entries, about `most` bytes of them."""
        done, self.has_begun = 0, True
        while self.raw and done < most:
            entry = self.raw.popleft()
            if entry[0] not in LANE_OF_PART:
                self._take_head(entry)
                done += 1024
                continue
            done += len(entry[2])
            if entry[-1] == GONE and not entry[2]:
                self._take_gap(LANE_OF_PART[entry[0]])
            else:
                self._take_piece(entry)
        if self.is_over and not self.raw:
            self._finish()

    def release(self) -> None:
        """Mask the entries that are held back, although their lines may go on."""
        for kind, lane in self._lanes.items():
            self._set(kind, lane.release())

    def shown(self, text: str) -> str:
        """Return a text, such as a URL, without secrets."""
        return self._mask.apply_to_address(text)

    def _take_piece(self, entry: list[Any]) -> None:
        kind = LANE_OF_PART[entry[0]]
        lane = self._lanes.get(kind)
        if lane is None:
            lane, self._held[kind] = CutBodyMask(self._mask), deque()
            self._lanes[kind] = lane
        self._held[kind].append(entry)
        self._set(kind, lane.feed(entry[2]))

    def _take_gap(self, kind: str) -> None:
        if kind in self._lanes:
            self._set(kind, self._lanes[kind].break_off())

    def _take_head(self, entry: list[Any]) -> None:
        """Mask an entry other than a read or a write: its fields, and the body of a request."""
        fields, count = entry[2] if isinstance(entry[2], dict) else head_fields(entry[2]), 0
        if "headers" in fields:
            self._learn(secrets_of_head(fields))
            fields = {**fields, "headers": recorded_headers(fields["headers"], self._mask)}
        if entry[0] == "request" and isinstance(entry[3], bytes):
            masked, count = self._mask.apply(entry[3].decode("latin-1"))
            entry[3] = masked.encode("latin-1")
        entry[2] = {name: self._value(name, value) for name, value in fields.items()}
        entry[-1] = count

    def _learn(self, secrets: set[str]) -> None:
        """Add secrets that are masked in all later entries."""
        if secrets:
            self._mask = self._mask.with_secrets(secrets)
            for lane in self._lanes.values():
                lane.mask = self._mask

    def _value(self, name: str, value: Any) -> Any:
        if isinstance(value, str):
            mask = self._mask
            return mask.apply_to_address(value) if name in _ADDRESSES else mask.apply_to_text(value)
        if isinstance(value, dict):
            return {key: self._value(key, item) for key, item in value.items()}
        return value

    def _finish(self) -> None:
        for kind, lane in self._lanes.items():
            self._set(kind, lane.finish())

    def _set(self, kind: str, masked: list[MaskedRead]) -> None:
        held = self._held[kind]
        for read in masked:
            entry = held.popleft()
            entry[2], entry[-1] = read.data, read.redacted
