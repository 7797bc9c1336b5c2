"""Redaction of credentials as they occur in real error texts, and of sentences without any.

`credentials/*.txt` and `inside.txt` hold one form per line; the secret is between ⟦ and ⟧. `ordinary.txt`
holds one sentence per line. `⏎` is a line end, `␉` a tab, `<U+XXXX>` any character. `¦` is removed:
it keeps scanners from taking a made-up key for a real one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from cases import for_each
from streamweir.redaction import REDACTED, hide_credentials, redact, redact_value

Form: TypeAlias = tuple[str, tuple[str, ...]]
"""A text, and the words that must be gone from it."""

HERE = Path(__file__).parent
MARKED = re.compile("⟦(.*?)⟧", re.DOTALL)
CODE_POINT = re.compile(r"<U\+([0-9A-F]{4,6})>")
SHORTEST = 3
"""Pieces of a secret that are shorter may stand in any text."""


def lines(path: Path) -> Iterator[str]:
    for line in path.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            plain = line.replace("⏎", "\n").replace("␉", "\t").replace("¦", "")
            yield CODE_POINT.sub(lambda code: chr(int(code[1], 16)), plain)


def forms(*paths: Path) -> list[Form]:
    """Return the texts of these files, each with the words that must be removed from it."""
    return [
        (line.replace("⟦", "").replace("⟧", ""), tuple(words_of(MARKED.findall(line))))
        for path in paths
        for line in lines(path)
    ]


def words_of(secrets: list[str]) -> Iterator[str]:
    for secret in secrets:
        yield from (word for word in re.split(r"[\s/]+|\\[nrt]", secret) if len(word) >= SHORTEST)


CREDENTIALS = forms(*sorted(HERE.glob("credentials/*.txt")))
INSIDE = forms(HERE / "inside.txt")
ORDINARY = list(lines(HERE / "ordinary.txt"))

ROUND_ABOUT = [
    "{}",
    "The request failed: {} (see log)",
    "请求失败：{}，请重试",
    "({})",
    "{}\nand more",
    "oops\n{}",
]


def survivors(text: str, secrets: tuple[str, ...]) -> list[str]:
    text = text.replace(REDACTED, "")
    return [secret for secret in secrets if secret in text]


def test_corpus_has_enough_forms() -> None:
    assert len(CREDENTIALS) >= 400
    assert len(ORDINARY) >= 250
    assert all(secrets for _, secrets in CREDENTIALS + INSIDE)


@for_each("form", CREDENTIALS + INSIDE)
def test_redact_with_each_form_of_secret_removes_it(form: Form) -> None:
    text, secrets = form
    for around in ROUND_ABOUT:
        assert not survivors(redact(around.format(text), limit=2000), secrets), around
    assert not survivors(str(redact_value({"detail": [text]}, limit=2000)), secrets)


@for_each("form", CREDENTIALS)
def test_hide_credentials_with_each_form_removes_it(form: Form) -> None:
    text, secrets = form
    for around in ROUND_ABOUT:
        assert not survivors(hide_credentials(around.format(text)), secrets), around


@for_each("text", ORDINARY)
def test_redact_with_ordinary_sentence_returns_it_unchanged(text: str) -> None:
    assert redact(text) == text
    assert hide_credentials(text) == text


LOGGED = [
    "connect to 10.0.0.5:9200 failed",
    "in /srv/app/x.py, line 3",
    "digest 0123456789abcdef0123456789abcdef",
]


@pytest.mark.parametrize("text", LOGGED)
def test_hide_credentials_keeps_addresses_and_paths(text: str) -> None:
    assert hide_credentials(text) == text
