"""Serves the metrics over HTTP, and lets several processes share their metrics.

Processes share metrics through files in the directory `PROMETHEUS_MULTIPROC_DIR`. The parent makes the
directory and sets the variable (`shared_directory`), and calls `worker_gone` for each process that has ended.

Source: the Prometheus text format 0.0.4 and OpenMetrics; `prometheus_client`'s multiprocess mode.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from anyio import sleep, to_thread
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest, multiprocess
from prometheus_client.openmetrics import exposition as openmetrics
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from streamweir.http.headers import header_value
from streamweir.http.negotiation import accepts_any
from streamweir_gateway.observability.counted_histograms import CountedHistograms

__all__ = ["FLUSH_SECONDS", "MetricsPage", "is_shared", "shared_directory", "worker_gone"]

DIRECTORY_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"

FLUSH_SECONDS: Final = 0.05
"""The seconds within which a process puts its numbers into metrics that processes share."""


class MetricsPage:
    """The ASGI endpoint that Prometheus scrapes.

    Args:
        registry: returns the metrics to show. If processes share metrics, those of all processes are shown.
    """

    def __init__(self, registry: Callable[[], CollectorRegistry]) -> None:
        self._registry = registry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one scrape, in the format that the client asks for."""
        encode: Callable[[CollectorRegistry], bytes]
        accept = header_value(scope["headers"], b"accept")
        if accepts_any(accept, ("application/openmetrics-text",)):
            encode, media_type = _openmetrics, openmetrics.CONTENT_TYPE_LATEST
        else:
            encode, media_type = generate_latest, CONTENT_TYPE_PLAIN_0_0_4
        # Reading the files of many workers takes milliseconds, which streams should not wait for.
        registry = self._registry()
        if is_shared():
            await sleep(2 * FLUSH_SECONDS)  # until the numbers of the other processes are there too
        body = await to_thread.run_sync(lambda: encode(_shown(registry)))
        headers = {"Content-Type": media_type, "Cache-Control": "no-store"}
        await Response(body, headers=headers)(scope, receive, send)


def _shown(registry: CollectorRegistry) -> CollectorRegistry:
    if not is_shared():
        return registry
    everyone, shown = CollectorRegistry(), CollectorRegistry()
    multiprocess.MultiProcessCollector(everyone)  # type: ignore[no-untyped-call]
    shown.register(CountedHistograms(everyone))
    return shown


def _openmetrics(registry: CollectorRegistry) -> bytes:
    text: bytes = openmetrics.generate_latest(registry)  # type: ignore[no-untyped-call]
    return text


def is_shared() -> bool:
    """Return whether this process shares its metrics with other processes."""
    return bool(os.environ.get(DIRECTORY_VARIABLE))


@contextmanager
def shared_directory() -> Iterator[str]:
    """Let processes started within this block share their metrics. A directory that is set is kept."""
    if is_shared():
        yield os.environ[DIRECTORY_VARIABLE]
        return
    with tempfile.TemporaryDirectory(prefix="streamweir-metrics-") as directory:
        os.environ[DIRECTORY_VARIABLE] = directory
        try:
            yield directory
        finally:
            del os.environ[DIRECTORY_VARIABLE]


def worker_gone(pid: int) -> None:
    """Remove the open streams and breakers of a process that has ended; keep its counts."""
    if is_shared():
        multiprocess.mark_process_dead(pid)  # type: ignore[no-untyped-call]
