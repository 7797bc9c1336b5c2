"""Finds out quickly that a text contains no credential, because nearly every text contains none.

A rule for credentials takes some 30 ns for each byte, and there are many. A text is therefore cut into words
first: most words of a stream have occurred before, and need no rule. The answer may be True for a text
without a credential, never False for one with a credential.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from streamweir.capture.named_fields import has_fields
from streamweir.redaction.rule import Rule
from streamweir.redaction.secret_names import is_secret_name

__all__ = ["SIGNS_OF_CONTEXT", "SecretSigns", "Signs"]

_BLANK: Final = bytes(32 if chr(code) in " \t\r\n\v\f\"'<>(){}[],;" else code for code in range(256))
"""Replaces the characters that occur in no credential that is recognised by its form."""
_LETTERS_THAT_COUNT: Final = (b"A", b"eyJ")
"""The beginnings of credentials that consist of letters only."""
_SHORTEST: Final = 9
"""The least length of a credential that consists of letters and digits only."""
_AROUND_NUMBERS: Final = b":.,-"
_MOST_WORDS: Final = 20_000
"""The most words that are remembered; beyond that, all are forgotten."""
_NAMES: Final = re.compile(r"[\w.$-]{1,64}(?=[=:]|\Z)")
_PARTS_OF_NAMES: Final = tuple(
    part.encode()
    for part in (
        *("pass", "pwd", "secret", "token", "cred", "cookie", "auth", "conn", "key", "kennwort", "senha"),
        *("contrase", "jwt", "otp", "psk", "sid", "sess", "cfid", "cftoken", "wordpress_logged", "remember"),
        *("sig", "sas", "dsn", "pw", "bearer", "hmac", "webhook", "assertion", "session"),
    )
)
"""Parts of words; every name of a secret contains one of them."""

SIGNS_OF_CONTEXT: Final = {
    "credentials of a url": ("://",),
    "private key": ("begin ", "putty", "age-secret"),
    "webhook": ("://",),
    "credentials of a host": ("@",),
    "bearer token": ("bearer",),
    "basic credentials": ("asic ",),
}
"""For the name of each rule, lower-case texts; every match of the rule contains one of them, in any case."""


class Signs(NamedTuple):
    """The signs of secrets in one text.

    Attributes:
        form: a word may be a credential.
        name: a key may be the name of a secret.
        assignment: a word like `password=x` or `password:` may contain a secret, or a secret may follow it.
        field: the name of a secret may be beside its value; see `named_fields.py`.
    """

    form: bool
    name: bool
    assignment: bool
    field: bool


class SecretSigns:
    """Remembers words that are not credentials.

    Args:
        rules: the rules that recognise a credential within a word, by its form only.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = [one.pattern for one in rules]
        self._harmless: set[bytes] = set()
        """Words that are neither credentials nor names of secrets."""
        self._names: set[bytes] = set()
        """Words that are names of secrets, but not credentials."""

    def of(self, text: str) -> Signs:
        """Return the signs in a text (Latin-1)."""
        words = {*text.encode("latin-1", "replace").translate(_BLANK).split()}
        unknown = words - self._harmless - self._names
        if unknown and not self._learn(unknown):
            return Signs(form=True, name=True, assignment=True, field=True)
        names = words & self._names
        return Signs(
            form=False,
            name=any(_is_key(name, text) for name in names),
            assignment=any(b"=" in name or b":" in name for name in names) or (bool(names) and " =" in text),
            field=bool(names) and has_fields(text),
        )

    def has_form(self, text: str) -> bool:
        """Return whether a word of a text (Latin-1) may be a credential; no word is remembered."""
        words = {*text.encode("latin-1", "replace").translate(_BLANK).split()} - self._harmless
        doubtful = b"\n".join(word for word in words if _is_doubtful(word)).decode("latin-1")
        return bool(doubtful) and any(pattern.search(doubtful) for pattern in self._rules)

    def _learn(self, words: set[bytes]) -> bool:
        """Remember words if none of them is a credential; else return False without remembering any."""
        doubtful = b"\n".join(word for word in words if _is_doubtful(word)).decode("latin-1")
        if any(pattern.search(doubtful) for pattern in self._rules):
            return False
        if len(self._harmless) + len(self._names) > _MOST_WORDS:
            self._harmless.clear()
            self._names.clear()
        joined = b"\n".join(words).lower()
        names = set()
        if any(part in joined for part in _PARTS_OF_NAMES):
            names = {word for word in words if _has_secret_name(word)}
        self._names |= names
        self._harmless |= words - names
        return True


def _is_doubtful(word: bytes) -> bool:
    """Return whether a word has to be checked by the rules: it is neither a number nor a plain word."""
    if word.isalnum() and (len(word) < _SHORTEST or word.isalpha()):
        return len(word) >= _SHORTEST and word.startswith(_LETTERS_THAT_COUNT)
    return not word.strip(_AROUND_NUMBERS).isdigit()


def _has_secret_name(word: bytes) -> bool:
    """Return whether a word is the name of a secret, or has such a name at its end or before `=` or `:`."""
    text = word.decode("latin-1")
    return is_secret_name(text.rstrip("\\:")) or any(map(is_secret_name, _NAMES.findall(text)))


def _is_key(name: bytes, text: str) -> bool:
    """Return whether a name occurs where keys of objects do: in JSON, in JSON within a text, in a `repr`."""
    word = name.decode("latin-1")
    return f'{word}":' in text or f'{word}" :' in text or f"{word}':" in text
