"""What an upstream is sent for a request, and answers to interactions."""

from typing import Any

import pytest

from streamweir import RequestError, write_request

__all__ = ["answer", "check_refused", "check_written"]


def answer(action: str, value: Any = None, resume: Any = None, interaction_id: str = "") -> dict[str, Any]:
    """The answer to an interaction."""
    fields = {"interaction_id": interaction_id, "action": action, "value": value, "resume": resume}
    return {name: value for name, value in fields.items() if value is not None}


def check_written(dialect: str, path: str, request: dict[str, Any], expected: list[dict[str, Any]]) -> None:
    """A server is sent these requests, as far as `expected` says what is in them."""
    found = write_request(request, dialect=dialect, path=path)
    assert [
        {name: row.get(name) for name in want} for row, want in zip(found, expected, strict=True)
    ] == expected


def check_refused(dialect: str, path: str, given: dict[str, Any]) -> None:
    """An answer that a server cannot take is refused."""
    with pytest.raises(RequestError) as raised:
        write_request({"resume": [given]}, dialect=dialect, path=path)
    assert (raised.value.status, raised.value.field) == (400, "resume")
