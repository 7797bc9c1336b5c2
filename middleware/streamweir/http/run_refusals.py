"""The refusals of requests for runs. Source: the contract of resumable streams, section 3."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from streamweir.http.refusals import Refusal
from streamweir.runs.service import RunError
from streamweir.runs.store import StoreUnavailable

__all__ = ["run_refusals"]


@contextmanager
def run_refusals() -> Iterator[None]:
    """Convert errors of `RunService` in the block into refusals.

    Raises:
        Refusal: the operation on the run is not possible, or the store does not answer.
    """
    try:
        yield
    except RunError as error:
        raise Refusal(error.code, str(error) or None) from None
    except StoreUnavailable:
        raise Refusal("STORE_UNAVAILABLE", headers={"Retry-After": "1"}) from None
