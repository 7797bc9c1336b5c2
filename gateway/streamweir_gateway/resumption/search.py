"""Finding runs by what they belong to, for the key that they belong to.

Source: the contract of resumable streams, sections 3 and 4 (`find`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import parse_qsl

from starlette.types import Scope

from streamweir.asgi.refusals import Refusal
from streamweir.runs.stored_event import UnreadableRun
from streamweir_gateway.resumption.handles import run_name
from streamweir_gateway.resumption.resumption import FoundRun, Resumption
from streamweir_gateway.resumption.run_description import about_of
from streamweir_gateway.resumption.run_index import KINDS, index_key

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
    key: str | None = scope["state"].get("key")
    kind, value = _asked(scope)
    store = resumption.registry.store
    for name in await store.find(index_key(key, kind, value)):
        state = await store.look(name)
        if state is None or state.state == "gone":
            continue
        try:
            about = about_of(state)
        except UnreadableRun:
            continue
        endpoint = resumption.endpoints.get(about.endpoint)
        if endpoint is None or about.handle is None or run_name(key, about.handle) != name:
            continue
        yield FoundRun(about.handle, name, state, about, endpoint)


def _asked(scope: Scope) -> tuple[str, str]:
    pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=False)
    asked = [(name, value) for name, value in pairs if name in KINDS]
    if len(asked) != 1:
        raise Refusal("BAD_REQUEST", f"Name one of: {', '.join(KINDS)}.")
    return asked[0]
