"""Masks secrets in recorded bodies: each byte of a secret becomes `*`. Lengths, cuts and JSON stay valid.

Bodies are searched as Latin-1, in which every byte is one character. Source: the contract of
capture files, section 3.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from copy import copy
from typing import Final
from urllib.parse import quote, quote_plus

from streamweir.capture.assigned_values import assigned_values
from streamweir.capture.escaped_text import EscapedText
from streamweir.capture.json_numbers import is_json_number
from streamweir.capture.named_fields import named_fields
from streamweir.capture.named_values import named_values
from streamweir.capture.nested_values import nested_values
from streamweir.capture.secret_signs import SIGNS_OF_CONTEXT, SecretSigns, Signs
from streamweir.redaction import hide_credentials
from streamweir.redaction.credential_rules import (
    CREDENTIALS_BY_CONTEXT,
    CREDENTIALS_BY_FORM,
    CREDENTIALS_OF_A_URL,
)
from streamweir.redaction.rule import REDACTED, Rule
from streamweir.runs.handles import run_name_spans

__all__ = ["SHORTEST", "SecretMask", "joined_spans", "masked_text"]

SHORTEST: Final = 6
"""The least length of a secret that is masked: shorter ones occur in other words by chance."""

_WHOLE_LINES: Final = ("credential header", "signed request", "masked secret")
"""Rules for log lines that are not used here: they would mask everything after a match in a JSON text."""

_CONTEXT: Final = tuple(
    found for found in (CREDENTIALS_OF_A_URL, *CREDENTIALS_BY_CONTEXT) if found.name not in _WHOLE_LINES
)
_FORMS: Final = tuple(found for found in CREDENTIALS_BY_FORM if found.name not in _WHOLE_LINES)
_ENCODED: Final = re.compile(r"%[0-9A-F]{2}")
_ESCAPED: Final = re.compile(r"\\u([0-9a-f]{4})")
_LONGEST_REMEMBERED: Final = 128
_MOST_REMEMBERED: Final = 2000
"""The most short texts without a credential, such as values of headers, that are remembered at a time."""
_IDS: Final = re.compile(r"(?:req|sess)_[0-9a-f]{32}|00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]")
"""Request ids, session ids and trace parents made by this library, which no rule takes for credentials."""
_PROBES: Final = ("A1b2C3d4E5f6G7h8I9j0K1l2", "A1B2C3D4E5F6G7H8")
"""Ends of credentials: a word that is a credential with one of them may be the beginning of a credential."""


class SecretMask:
    """Finds known secrets by their value, and other secrets by their form.

    Args:
        secrets: the known secrets; those shorter than six characters are ignored.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known: tuple[str, ...] = ()
        self._all_known = self._first_letters = ""
        """The known secrets, and their first characters, as one text each."""
        self._tails: dict[str, int] = {}
        """For words at the end of a text, how many of their characters may begin a credential. Shared with
        `with_secrets`.
        """
        self._signs = SecretSigns(_FORMS)
        self._harmless: set[str] = set()
        """Short texts without credentials; they may contain a known secret. Shared with `with_secrets`."""
        self._harmless_addresses: set[str] = set()
        """Addresses without a credential, remembered in the same way."""
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Add known secrets, to be found from now on."""
        forms = {form for secret in secrets if len(secret) >= SHORTEST for form in _forms(secret)}
        self._known = (*self._known, *sorted(forms.difference(self._known)))
        self._all_known = "\n".join(self._known)
        self._first_letters = "".join(secret[0] for secret in self._known)

    def with_secrets(self, secrets: Iterable[str]) -> SecretMask:
        """Return a copy of the mask that also finds these secrets."""
        mask = copy(self)
        mask.add(secrets)
        return mask

    def apply(self, text: str) -> tuple[str, int]:
        """Return `text` (Latin-1) with its secrets masked, and the number of secrets."""
        if len(text) <= _LONGEST_REMEMBERED and "\\" not in text and self._is_harmless(text):
            return text, 0
        spans = self.spans(text)
        return (masked_text(text, spans), len(spans)) if spans else (text, 0)

    def _is_harmless(self, text: str) -> bool:
        """Return whether a short text has no secret; remember it if it has none."""
        for secret in self._known:  # a generator would cost more than all else
            if secret in text:
                return False
        if text in self._harmless or _IDS.fullmatch(text):
            return True
        if self.spans(text):
            return False
        if len(self._harmless) >= _MOST_REMEMBERED:
            self._harmless.clear()
        self._harmless.add(text)
        return True

    def apply_to_text(self, text: str) -> str:
        """Return any text with its secrets masked."""
        bytes_as_text = text if text.isascii() else text.encode("utf-8", "replace").decode("latin-1")
        masked, count = self.apply(bytes_as_text)
        return masked.encode("latin-1").decode("utf-8", "replace") if count else text

    def apply_to_address(self, text: str) -> str:
        """Return a URL or the target of a request with `[redacted]` in place of credentials."""
        if text in self._harmless_addresses and not any(secret in text for secret in self._known):
            return text
        shown = hide_credentials(self.apply_to_text(text))
        if shown == text and len(text) <= _LONGEST_REMEMBERED:
            if len(self._harmless_addresses) >= _MOST_REMEMBERED:
                self._harmless_addresses.clear()
            self._harmless_addresses.add(text)
        return shown

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the spans of the secrets in `text`, from left to right, without overlaps."""
        found = self._spans_of_written(text)
        if (escaped := _unescaped(text)) is not None:
            found += escaped.original_spans(self._spans_of_written(escaped.text))
        return joined_spans(found) if found else found

    def _spans_of_written(self, text: str) -> list[tuple[int, int]]:
        """Return the spans of the unescaped secrets in `text`, in any order."""
        found = [span for secret in self._known if secret in text for span in _places(secret, text)]
        found += run_name_spans(text)
        signs = self._signs.of(text)
        for rule in _rules_for(text, signs):
            found += [
                span
                for match in rule.pattern.finditer(text)
                if (span := _hidden(match, rule.replacement)) is not None
            ]
        if signs.name:
            found += named_values(text)
            found += nested_values(text)
        if signs.assignment:
            found += assigned_values(text)
        if signs.field:
            found += named_fields(text)
        return found

    def spread_spans(self, text: str, first_cut: int) -> list[tuple[int, int]]:
        """Return the spans of secrets in a text that several frames make up, without overlaps.

        Only known secrets and credentials by their form are found, not values by their names.

        Args:
            text: the text (Latin-1).
            first_cut: the first place within a word at which a frame begins; -1: no word is spread over
                frames, so that no credential is.
        """
        found = self._spread_spans_of_written(text, first_cut)
        if (escaped := _unescaped(text)) is not None:
            cut = escaped.place_of(first_cut) if first_cut >= 0 else -1
            found += escaped.original_spans(self._spread_spans_of_written(escaped.text, cut))
        return joined_spans(found) if found else found

    def _spread_spans_of_written(self, text: str, first_cut: int) -> list[tuple[int, int]]:
        """Return the spans of the unescaped secrets in a text that several frames make up, in any order."""
        found = [span for secret in self._known if secret in text for span in _places(secret, text)]
        if first_cut >= 0:
            start = first_cut - len(text[:first_cut].rpartition(" ")[2])
            words = text[start:]
            if self._signs.has_form(words):
                found += [(start + begin, start + end) for begin, end in _spans_by_form(words)]
        return found

    def spread_begun(self, text: str) -> int:
        """Return how many characters at the end of `text` may be the beginning of a secret."""
        if (escaped := _unescaped(text)) is not None and (begun := self._begun_of_written(escaped.text)):
            return len(text) - escaped.original(len(escaped.text) - begun)
        return self._begun_of_written(text)

    def _begun_of_written(self, text: str) -> int:
        """Return how many characters at the end of `text` may be the beginning of an unescaped secret."""
        if not text or text[-1].isspace():
            return 0
        if text[-2:] in self._all_known or text[-1] in self._first_letters:
            known = max((_length_begun(text, secret) for secret in self._known), default=0)
            if known:
                return known
        words = text[-_LONGEST_REMEMBERED:].rsplit(None, 1)
        begun = self._tails.get(words[-1])
        if begun is None:
            if len(self._tails) >= _MOST_REMEMBERED:
                self._tails.clear()
            begun = self._tails[words[-1]] = _begun_by_form(words[-1])
        return begun

    def begun_at_end(self, text: str) -> int:
        """Return how many characters at the end of `text` may be the beginning of a known secret."""
        begun = max((_overlap(text, secret) for secret in self._known), default=0)
        if "\\" in text:
            escaped = EscapedText(text)
            length = max((_overlap(escaped.text, secret) for secret in self._known), default=0)
            if length:
                begun = max(begun, len(text) - escaped.original(len(escaped.text) - length))
        return begun


def _unescaped(text: str) -> EscapedText | None:
    """Return a text without the escapes of ASCII characters; None if it has none."""
    if "\\u00" not in text and "\\/" not in text:
        return None
    escaped = EscapedText(text)
    return escaped if escaped.has_escapes else None


def _rules_for(text: str, signs: Signs) -> Iterator[Rule]:
    """Yield the rules that may match in `text`."""
    lower = text.lower()
    for rule in _CONTEXT:
        if any(sign in lower for sign in SIGNS_OF_CONTEXT[rule.name]):
            yield rule
    if signs.form:
        yield from _FORMS


def _length_begun(text: str, secret: str) -> int:
    """Return the length of the longest end of `text` with which `secret` begins and goes on."""
    tail = text[-2:]
    found = 1 if text[-1] == secret[0] else 0
    place = secret.find(tail)
    while 0 <= place < len(secret) - len(tail):
        end = place + len(tail)
        if text.endswith(secret[:end]):
            found = end
        place = secret.find(tail, place + 1)
    return found


def _spans_by_form(text: str) -> list[tuple[int, int]]:
    return [
        span
        for rule in _FORMS
        for match in rule.pattern.finditer(text)
        if (span := _hidden(match, rule.replacement)) is not None
    ]


def _begun_by_form(word: str) -> int:
    """Return how many characters at the end of a word may be the beginning of a credential; 0 if they are a
    credential already.
    """
    if any(end == len(word) for _, end in _spans_by_form(word)):
        return 0
    starts = (start for probe in _PROBES for start, _ in _spans_by_form(word + probe))
    return max((len(word) - start for start in starts), default=0)


def _places(secret: str, text: str) -> Iterator[tuple[int, int]]:
    place = text.find(secret)
    while place >= 0:
        yield place, place + len(secret)
        place = text.find(secret, place + len(secret))


def _overlap(text: str, secret: str) -> int:
    """Return the length of the longest end of `text` that begins `secret`; 0 if shorter than `SHORTEST`."""
    for length in range(min(len(secret) - 1, len(text)), SHORTEST - 1, -1):
        if text.endswith(secret[:length]):
            return length
    return 0


def _forms(secret: str) -> Iterable[str]:
    """Return the forms of a secret in a body: plain, in a JSON text, in JSON within it, and in a URL."""
    escaped = json.dumps(secret)[1:-1]
    in_json = [escaped, json.dumps(secret, ensure_ascii=False)[1:-1], secret.replace("\\", r"\\")]
    in_json.append(_ESCAPED.sub(lambda match: "\\u" + match[1].upper(), escaped))
    in_arguments = [json.dumps(form, ensure_ascii=False)[1:-1] for form in in_json]
    in_results = (json.dumps(form)[1:-1] for form in in_arguments)
    in_url = [quote(secret), quote(secret, safe=""), quote_plus(secret)]
    in_small_url = (_ENCODED.sub(lambda match: match[0].lower(), form) for form in in_url)
    for form in (secret, *in_json, *in_arguments, *in_results, *in_url, *in_small_url):
        yield form.encode("utf-8", "replace").decode("latin-1")


def _hidden(match: re.Match[str], replacement: str) -> tuple[int, int] | None:
    """Return the span that a rule replaces, cut off at the end of the surrounding JSON text."""
    kept_before, _, kept_behind = match.expand(replacement).partition(REDACTED)
    start, end = match.start() + len(kept_before), match.end() - len(kept_behind)
    text = match.string[start:end].partition('"')[0].partition("\n")[0].rstrip("\\\r")
    return (start, start + len(text)) if text.strip("*") else None


def joined_spans(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans in order, with those that overlap joined, and without empty ones."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        elif end > start:
            found.append((start, end))
    return found


def masked_text(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return the text with `*` for each character in the spans, which are in order and do not overlap.

    A JSON escape within which a span begins is masked as a whole. Of a JSON number each digit becomes `9`, so
    that JSON stays JSON.
    """
    pieces: list[str] = []
    position = 0
    for start, end in spans:
        begin = max(position, _begin_of_escape(text, start))
        pieces += (text[position:begin], ("9" if is_json_number(text, begin, end) else "*") * (end - begin))
        position = end
    return "".join((*pieces, text[position:]))


def _begin_of_escape(text: str, place: int) -> int:
    """Return the beginning of the JSON escape that `place` is within; `place` itself if it is in none."""
    begin = text.rfind("\\", max(0, place - len(r"\u00e")), place)
    end = begin + len(r"\u00e9" if text.startswith("u", begin + 1) else r"\n")
    if begin < 0 or place >= end:
        return place
    before = len(text[:begin].rstrip("\\"))
    return place if (begin - before) % 2 else begin
