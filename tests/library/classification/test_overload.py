"""Which error events say that an upstream is overloaded."""

import pytest

from cases import for_each
from streamweir.classification import is_overload


@for_each(
    "said",
    [
        *[
            (503, None),
            (529, None),
            ("529", None),
            (None, 503),
            ("api_error", 529),
            ("overloaded_error", None),
        ],
        *[("UNAVAILABLE", None), ("OverloadedError", None), ("litellm.ServiceUnavailableError", None)],
        *[("server_is_overloaded", None), ("slow_down", None)],
    ],
)
def test_is_overload_with_a_known_status_or_name_returns_true(said: tuple[object, object]) -> None:
    assert is_overload(*said)


@pytest.mark.parametrize(
    "said",
    [
        (500, None),
        (None, 429),
        ("api_error", None),
        ("overloaded" * 100, None),
        (True, False),
        ([503], {}),
        (503.0, None),
    ],
)
def test_is_overload_with_anything_else_returns_false(said: tuple[object, object]) -> None:
    assert not is_overload(*said)
