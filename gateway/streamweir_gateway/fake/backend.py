"""The fake backend: plays its own settings, or the settings that a request asks for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from streamweir.errors import ConfigurationError
from streamweir_gateway.fake.answers import refusal_steps
from streamweir_gateway.fake.fault_syntax import FaultError
from streamweir_gateway.fake.request import Request
from streamweir_gateway.fake.response import response_steps
from streamweir_gateway.fake.server import FakeBackend, serve_steps
from streamweir_gateway.fake.settings import Settings
from streamweir_gateway.fake.steps import Steps

__all__ = ["serve_fake"]


@asynccontextmanager
async def serve_fake(
    settings: Settings,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    on_request: Callable[[Request, Settings], None] | None = None,
) -> AsyncIterator[FakeBackend]:
    """Run a fake backend at `host` and `port` (0: any free one).

    Args:
        settings: the settings for requests that ask for no other settings.
        on_request: called with each request and the settings that are used for it.

    Raises:
        OSError: the address cannot be used.
    """
    answer = None if _has(settings, "accept-close") else partial(_answer, settings, on_request)
    async with serve_steps(answer, host=host, port=port, listens=not _has(settings, "refused")) as backend:
        yield backend


def _has(settings: Settings, name: str) -> bool:
    return any(fault.name == name for fault in settings.faults)


def _answer(
    settings: Settings, on_request: Callable[[Request, Settings], None] | None, request: Request
) -> Steps:
    """Return the steps of the response to `request`."""
    try:
        played = settings.settled(request.wishes)
        if _has(played, "refused"):
            raise FaultError("refused is for the whole server: there is no connection to ask for it on")
        if on_request is not None:
            on_request(request, played)
        return response_steps(played)
    except ConfigurationError as error:
        return refusal_steps(str(error))
