"""Masks secrets in recorded bodies: each byte of a secret becomes `*`. Lengths, cuts and JSON stay valid.

Bodies are searched as Latin-1, in which every byte is one character. Source: the contract of
capture files, section 3.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from streamweir.redaction.credential_rules import (
    CREDENTIALS_BY_CONTEXT,
    CREDENTIALS_BY_FORM,
    CREDENTIALS_OF_A_URL,
)
from streamweir.redaction.rule import REDACTED
from streamweir.redaction.secret_names import is_secret_name

__all__ = ["CutBodyMask", "MaskedRead", "SecretMask"]

SHORTEST: Final = 6
"""Shorter secrets are not masked: they occur in other words by chance."""

_LONGEST_LINE: Final = 64 << 10
"""The most bytes that are held back because the network may have cut a secret."""

_WHOLE_LINES: Final = ("credential header", "signed request", "masked secret")
"""Rules for log lines that are not used: they would mask the rest of a JSON text."""

_RULES: Final = tuple(
    found
    for found in (CREDENTIALS_OF_A_URL, *CREDENTIALS_BY_CONTEXT, *CREDENTIALS_BY_FORM)
    if found.name not in _WHOLE_LINES
)
_NAMED: Final = re.compile(r'(\\{0,4}")([\w.$-]{1,64})\1[ ]?:[ ]?\1(?=[^"\\\s]{0,200}\d)([^"\\\s]{8,})')
"""A value under the name of a secret. `token` may hold a token of a model, so only key-like values count."""


class MaskedRead(NamedTuple):
    """A read of a body without its secrets.

    Attributes:
        n: its number.
        data: the masked bytes, as many as were read.
        redacted: how many secrets begin in it.
    """

    n: int
    data: bytes
    redacted: int


class SecretMask:
    """Finds secrets by their value and by their form.

    Args:
        secrets: the known secrets; those shorter than six characters are ignored.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._forms: set[str] = set()
        self._known: re.Pattern[str] | None = None
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Find these secrets too, from now on."""
        forms = {form for secret in secrets if len(secret) >= SHORTEST for form in _forms(secret)}
        if forms <= self._forms:
            return
        self._forms |= forms
        ordered = sorted(self._forms, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, ordered)))

    def apply(self, text: str) -> tuple[str, int]:
        """Return `text` (Latin-1) with its secrets masked, and their number."""
        spans = self.spans(text)
        return _masked(text, spans), len(spans)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the spans of the secrets in `text`, from left to right, without overlaps."""
        found = [(match.start(), match.end()) for match in self._known.finditer(text)] if self._known else []
        for rule in _RULES:
            found += [
                span
                for match in rule.pattern.finditer(text)
                if (span := _hidden(match, rule.replacement)) is not None
            ]
        found += [match.span(3) for match in _NAMED.finditer(text) if is_secret_name(match[2])]
        return _joined(found)


def _forms(secret: str) -> Iterable[str]:
    """Return the forms of a secret in a body: plain, and escaped in a JSON text."""
    for form in (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]):
        yield form.encode("utf-8", "replace").decode("latin-1")


def _hidden(match: re.Match[str], replacement: str) -> tuple[int, int] | None:
    """Return the span that a rule replaces, cut at the end of the surrounding JSON text."""
    kept_before, _, kept_behind = match.expand(replacement).partition(REDACTED)
    start, end = match.start() + len(kept_before), match.end() - len(kept_behind)
    text = match.string[start:end].partition('"')[0].partition("\n")[0].rstrip("\\\r")
    return (start, start + len(text)) if text.strip("*") else None


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        elif end > start:
            found.append((start, end))
    return found


class CutBodyMask:
    """Masks secrets in a body that comes in reads, also secrets that are cut in two.

    A read is returned once its last line is complete, or once that line is too long to wait for.

    Args:
        mask: finds secrets.
    """

    def __init__(self, mask: SecretMask) -> None:
        self._mask = mask
        self._held: list[bytes] = []
        self._context = b""
        """The returned part of the line in which the held reads begin."""
        self._count = 0

    def feed(self, data: bytes) -> list[MaskedRead]:
        """Take a read; return the reads that can no longer change, in order."""
        self._held.append(data)
        if data.endswith(b"\n") or sum(map(len, self._held)) > _LONGEST_LINE:
            return self.finish()
        with_ends = [index for index, read in enumerate(self._held) if b"\n" in read]
        return self._release(with_ends[-1]) if with_ends else []

    def finish(self) -> list[MaskedRead]:
        """Return the reads that were held back."""
        return self._release(len(self._held))

    def _release(self, count: int) -> list[MaskedRead]:
        """Return the first `count` held reads, masked with the following ones in view."""
        if not count:
            return []
        text = (self._context + b"".join(self._held)).decode("latin-1")
        spans = self._mask.spans(text)
        masked = _masked(text, spans).encode("latin-1")
        found: list[MaskedRead] = []
        position = len(self._context)
        for read in self._held[:count]:
            end = position + len(read)
            begun = sum(1 for start, _ in spans if position <= start < end)
            found.append(MaskedRead(self._count, masked[position:end], begun))
            self._count += 1
            position = end
        del self._held[:count]
        self._context = text[text.rfind("\n", 0, position) + 1 : position].encode("latin-1")[-_LONGEST_LINE:]
        return found


def _masked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    pieces: list[str] = []
    position = 0
    for start, end in spans:
        pieces += (text[position:start], "*" * (end - start))
        position = end
    return "".join((*pieces, text[position:]))
