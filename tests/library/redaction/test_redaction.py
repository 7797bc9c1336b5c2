"""Redaction removes secrets from texts and values, and keeps everything else."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import for_each
from streamweir.redaction import REDACTED, SCAN_LIMIT, redact, redact_value


@pytest.mark.parametrize(
    "piece", ["é", "密码", "\\", "\\u0061", "%41", "a1%3d ", "pа", "--key ", "password ", "SG."]
)
def test_redact_with_masked_values_takes_time_in_proportion(piece: str) -> None:
    redact(piece * (1_000_000 // len(piece)))


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("no such city (db=postgres://app:hunter2@10.0.0.5/weather)", "no such city (db=[redacted])"),
        ("connection to db-internal:5432 failed", "connection to [redacted] failed"),
        ("worker at 10.1.2.3 fell over (org-SECRET123)", "worker at [redacted] fell over ([redacted])"),
        ('{"password": "a b", "user": "bob"}', '{"password": [redacted], "user": "bob"}'),
        ("无法打开文件/srv/app/x.py，请重试", "无法打开文件[redacted]，请重试"),
        ("Oops.\nTraceback (most recent call last):\n  x", "Oops.\n[redacted]"),
        ("/srv/app/x.py: 10.0.0.1, sk-abcdef", "[redacted]"),
        ("a \x1b[31mred\x1b[0m\x07 word\u202e", "a red word"),
        ("one  two\t\tthree\r\n\r\n four ", "one two three\nfour"),
        ("half \ud83d a character", "half \ufffd a character"),
        ("", ""),
        (" \n\t", ""),
    ],
)  # fmt: skip
def test_redact_keeps_the_rest_of_the_sentence(text: str, clean: str) -> None:
    assert redact(text) == clean


@pytest.mark.parametrize(
    ("limit", "clean"), [(8, "one two…"), (11, "one two th…"), (1, "…"), (0, ""), (-1, "")]
)
def test_redact_limits_the_length(limit: int, clean: str) -> None:
    assert redact("one two three", limit=limit) == clean


def test_redact_with_half_a_secret_at_the_scan_limit_removes_it() -> None:
    filler = "word " * ((SCAN_LIMIT - 10) // 5)
    text = filler + "x" * (SCAN_LIMIT - 6 - len(filler)) + " sk-proj-AbCd1234"
    assert "sk-" not in redact(text, limit=2 * SCAN_LIMIT)


CORPUS = [
    line.replace("⟦", "").replace("⟧", "")
    for path in sorted(Path(__file__).parent.rglob("*.txt"))
    for line in path.read_text("utf-8").splitlines()
]
PIECES = [
    *"aA1/\\.:@-_*?&=\"'([{< \n\x00\ud800密",
    "password=", "sk-", "at a (", "http://", "http://a@", "postgres://", "[redacted]", "10.", "fd00:",
    "Traceback:",
    "-----BEGIN A-----", "eyJ", "Bearer ", "Basic ", "Cookie: ", "C:\\", "/srv/", "~/", ".py:1", "::1",
    "db-internal:",
    ".internal", "a@a.", "token", "secret_", "\\\"", "File \"", "密码:", "host='", "at a.b(c) in ",
]  # fmt: skip
hostile_text = st.one_of(
    st.text(st.characters(categories=None)),
    st.lists(st.sampled_from(PIECES), max_size=40).map("".join),
    st.lists(st.sampled_from(CORPUS), max_size=5).map(" ".join),
)


@given(hostile_text, st.integers(0, 200))
def test_redact_with_any_text_is_idempotent_and_within_the_limit(text: str, limit: int) -> None:
    clean = redact(text, limit=limit)
    assert len(clean) <= limit
    assert redact(clean, limit=limit) == clean
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]", clean)


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("end", ["", "!", "@", ":", "\n"])
@for_each("piece", PIECES)
def test_redact_with_a_megabyte_takes_little_time(piece: str, end: str) -> None:
    text = (piece * (2**20 // len(piece)))[: 2**20]
    redact(text + end)
    redact(text[: SCAN_LIMIT - 1] + end)


def test_redact_value_redacts_strings_and_values_of_secret_keys() -> None:
    value = {
        "message": "no host 10.0.0.5",
        "apiKey": "abc",
        "X-Api-Key": ["abc"],
        "accessToken": {"a": 1},
        "Set-Cookie": None,
        "TOKEN ": "abc",
        "prompt_tokens": 12,
        "rows": [1, 2.5, True, None, "at /srv/app/x.py", ("a", b"raw")],
        "/srv/app/x.py": object(),
    }
    assert redact_value(value) == {
        "message": "no host [redacted]",
        "apiKey": REDACTED,
        "X-Api-Key": REDACTED,
        "accessToken": REDACTED,
        "Set-Cookie": REDACTED,
        "TOKEN": REDACTED,
        "prompt_tokens": 12,
        "rows": [1, 2.5, True, None, "at [redacted]", ["a", REDACTED]],
        REDACTED: REDACTED,
    }


def test_redact_value_bounds_depth_and_size() -> None:
    ring: list[object] = []
    ring.append(ring)
    assert REDACTED in json.dumps(redact_value(ring))
    assert len(json.dumps(redact_value([["x"] * 1000] * 1000))) < SCAN_LIMIT
    assert len(json.dumps(redact_value(["word " * SCAN_LIMIT] * 1000))) < SCAN_LIMIT


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | hostile_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(hostile_text, inner, max_size=4),
    max_leaves=8,
)


@given(json_values)
def test_redact_value_with_any_value_returns_a_copy(value: object) -> None:
    clean = redact_value(value, limit=80)
    assert redact_value(clean, limit=80) == clean
