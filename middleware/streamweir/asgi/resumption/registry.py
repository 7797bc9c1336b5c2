"""The runs of one middleware: the store that keeps them, whose they are, and those that are made here."""

from __future__ import annotations

from typing import Final

from streamweir.asgi.resumption.kept_run import KeptRun
from streamweir.http.found_run import find_run
from streamweir.http.headers import Headers
from streamweir.http.refusals import Refusal
from streamweir.http.requested_run import RUN_HEADER
from streamweir.http.sending import Scope
from streamweir.runs.options import Resume
from streamweir.runs.run_index import IndexedRun
from streamweir.runs.store import RunStore

__all__ = ["RunRegistry"]


class RunRegistry:
    """Those of one middleware.

    Attributes:
        under_way: by their names in the store, those that are made here.

    Args:
        resume: how they are kept.
        store: keeps them.
    """

    def __init__(self, resume: Resume, store: RunStore) -> None:
        self.resume: Final = resume
        self.store: Final = store
        self.under_way: Final[dict[str, KeptRun]] = {}

    def is_somebody(self, scope: Scope) -> bool:
        """Return whether a request has somebody to whom runs can belong."""
        return self.resume.owner is None or bool(self.resume.owner(scope))

    def owner_of(self, scope: Scope) -> str | None:
        """Return whose request it is; None where runs belong to whoever has their handle.

        Raises:
            Refusal: it is nobody's.
        """
        if self.resume.owner is None:
            return None
        owner = self.resume.owner(scope)
        if not owner:
            raise Refusal("RUN_NOT_FOUND")
        return owner

    def headers(self, handle: str) -> Headers:
        """Return what every answer of a run has."""
        location = f"{self.resume.path}/{handle}"
        return [(RUN_HEADER, handle.encode("ascii")), (b"content-location", location.encode())]

    async def find(self, scope: Scope, handle: str) -> IndexedRun:
        """Return the client's run of this handle.

        Raises:
            Refusal: there is none, or it is gone.
            StoreUnavailable: the store is out of reach.
        """
        return await find_run(self.store, self.owner_of(scope), handle)
