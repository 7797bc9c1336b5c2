"""The rules of redaction: one table, applied from top to bottom.

Whole traces come first, then addresses that may hold other secrets, then single secrets. No pattern can start
within characters that it has already scanned (look-behinds, possessive and bounded repeats), so the time is
proportional to the length of the text.
"""

from __future__ import annotations

from typing import Final

from streamweir.redaction.address_rules import ADDRESS_RULES, INTERNAL_URL
from streamweir.redaction.credential_rules import (
    CREDENTIALS_BY_CONTEXT,
    CREDENTIALS_BY_FORM,
    CREDENTIALS_BY_WORD,
    CREDENTIALS_OF_A_URL,
    OPAQUE,
    URLS_WITH_CREDENTIALS,
)
from streamweir.redaction.named_secrets import hide_named_secrets
from streamweir.redaction.rule import START, Rule, applied, rule
from streamweir.redaction.trace_rules import TRACE_RULES

__all__ = ["without_credentials", "without_double_spaces", "without_secrets"]

_BEFORE_NAMES: Final[tuple[Rule, ...]] = (
    *TRACE_RULES,
    *URLS_WITH_CREDENTIALS,
    INTERNAL_URL,
    *CREDENTIALS_BY_CONTEXT,
)
_AFTER_NAMES: Final[tuple[Rule, ...]] = (
    *CREDENTIALS_BY_WORD,
    *CREDENTIALS_BY_FORM,
    rule("organization or project", START + r"(?:org|proj)[-_](?=[a-z_-]{0,64}[A-Z\d])[\w-]{4,}"),
    *ADDRESS_RULES,
)
_NO_WORDS: Final[tuple[Rule, ...]] = (
    rule("opaque run", r"(?<![A-Za-z0-9])(?<!req_)(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{32,}+[\w+/=-]*"),
    *OPAQUE,
)
_HOLES: Final[tuple[Rule, ...]] = (
    rule("holes in a row", r"\[redacted\](?:(?:[ \n]?[,;:.])?[ \n]?\[redacted\])++"),
    rule("quoted hole", r"""(["'])\[redacted\]\1"""),
)
_SPACES: Final[tuple[Rule, ...]] = (
    rule("spaces", r" {2,}", " "),
    rule("empty lines", r" ?\n[ \n]*", "\n"),
)
_LOG_BEFORE_NAMES: Final = (CREDENTIALS_OF_A_URL, *CREDENTIALS_BY_CONTEXT)
_LOG_AFTER_NAMES: Final = (*CREDENTIALS_BY_WORD, *CREDENTIALS_BY_FORM, *OPAQUE)


def without_secrets(text: str, *, is_id: bool = False) -> str:
    """Return `text` without secrets and internals; with `is_id`, long random strings are kept."""
    text = hide_named_secrets(applied(_BEFORE_NAMES, text))
    text = applied(_AFTER_NAMES, text)
    return applied(_HOLES, text if is_id else applied(_NO_WORDS, text))


def without_credentials(text: str) -> str:
    """Return `text` for a log: without credentials, but with addresses, paths, traces and hexadecimal ids."""
    return applied(_LOG_AFTER_NAMES, hide_named_secrets(applied(_LOG_BEFORE_NAMES, text)))


def without_double_spaces(text: str) -> str:
    """Return `text` with repeated spaces and line ends reduced to one."""
    return applied(_SPACES, text).strip()
