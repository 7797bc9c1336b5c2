"""Durations and sizes are read, written and read back as the same number."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamweir.errors import ConfigurationError
from streamweir.options.durations import format_duration, parse_duration
from streamweir.options.sizes import format_size, parse_size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("200ms", 0.2),
        ("5s", 5.0),
        ("2m", 120.0),
        ("1h", 3600.0),
        ("1.5h", 5400.0),
        (7, 7.0),
        (0.25, 0.25),
        ("3", 3.0),
    ],
)
def test_duration_is_read_as_seconds(text: Any, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "size"),
    [("64KiB", 65536), ("10MiB", 10485760), ("1GiB", 1073741824), ("5B", 5), (7, 7), ("9", 9)],
)
def test_size_is_read_as_bytes(text: Any, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "value",
    [
        "",
        "5 s",
        "5S",
        "-5s",
        "+5s",
        "1e3",
        ".5s",
        "5.s",
        "５s",
        "5s\n",
        "off",
        0,
        -1,
        True,
        None,
        [],
        float("nan"),
        "9" * 400,
        "1000001h",
    ],
)
def test_text_that_is_no_duration_is_refused(value: Any) -> None:
    with pytest.raises(ConfigurationError):
        parse_duration(value)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "5 KiB",
        "5kib",
        "5KB",
        "1.5MiB",
        "-5",
        "0",
        0,
        -1,
        1.0,
        True,
        None,
        {},
        "off",
        "9" * 19,
        10**400,
        "1000001GiB",
    ],
)
def test_text_that_is_no_size_is_refused(value: Any) -> None:
    with pytest.raises(ConfigurationError):
        parse_size(value)


@given(st.floats(min_value=0, max_value=3.6e9, exclude_min=True))
def test_any_duration_survives_being_written(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


@given(st.integers(1, 10**6), st.sampled_from(["ms", "s", "m", "h"]))
def test_duration_with_a_unit_survives_being_written(count: int, unit: str) -> None:
    seconds = parse_duration(f"{count}{unit}")
    assert parse_duration(format_duration(seconds)) == seconds


@given(st.integers(1, 10**6 * 1024**3))
def test_any_size_survives_being_written(size: int) -> None:
    assert parse_size(format_size(size)) == size


@given(st.text() | st.integers() | st.floats())
def test_any_value_is_read_or_refused(value: Any) -> None:
    for parse in (parse_duration, parse_size):
        with contextlib.suppress(ConfigurationError):
            assert parse(value) > 0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "off"), (0.2, "200ms"), (90.0, "90s"), (120.0, "2m"), (7200.0, "2h"), (1e-7, "0.0000001s")],
)
def test_duration_is_written_in_the_largest_unit_that_fits(seconds: float | None, text: str) -> None:
    assert format_duration(seconds) == text
