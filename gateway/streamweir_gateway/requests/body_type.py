"""Checks that the body of a request is JSON, once for headers that a client repeats on its connection."""

from __future__ import annotations

from streamweir.http.client_body import check_type
from streamweir.http.headers import HeaderList
from streamweir_gateway.remembered_headers import memo_of

__all__ = ["check_body_type"]


def check_body_type(headers: HeaderList) -> None:
    """Raise `RequestError` for a body that is not JSON by its type, or that is coded."""
    memo = memo_of(headers)
    if memo is not None and memo.get(check_body_type):
        return
    check_type(headers)
    if memo is not None:
        memo.put(check_body_type, True)
