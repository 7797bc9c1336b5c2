"""Finding runs by what they belong to, for the key that they belong to.

Source: the contract of resumable streams, sections 3 and 4 (`find`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from starlette.types import Scope

from streamweir.http.refusals import Refusal
from streamweir.http.requested_run import requested_ids
from streamweir.runs.run_index import indexed_runs
from streamweir_gateway.resumption.resumption import FoundRun, Resumption

__all__ = ["find_runs", "latest_run"]


async def find_runs(resumption: Resumption, scope: Scope) -> list[FoundRun]:
    """Return the runs of the calling key that the query names, newest first.

    Raises:
        Refusal: nothing can be found here, or the query names nothing.
        StoreUnavailable: the store is out of reach.
    """
    return [run async for run in _found(resumption, scope)]


async def latest_run(resumption: Resumption, scope: Scope) -> FoundRun | None:
    """Return the newest of these runs that still runs.

    Raises:
        Refusal: nothing can be found here, or the query names nothing.
        StoreUnavailable: the store is out of reach.
    """
    async for run in _found(resumption, scope):
        if run.state.state == "running":
            return run
    return None


async def _found(resumption: Resumption, scope: Scope) -> AsyncIterator[FoundRun]:
    if not any(
        endpoint.config.resume and endpoint.config.resume.find for endpoint in resumption.endpoints.values()
    ):
        raise Refusal("ENDPOINT_NOT_FOUND")
    kind, value = requested_ids(scope)
    async for run in indexed_runs(resumption.registry.store, scope["state"].get("key"), kind, value):
        endpoint = resumption.endpoints.get(run.about.endpoint)
        if endpoint is not None:
            yield FoundRun(*run, endpoint)
