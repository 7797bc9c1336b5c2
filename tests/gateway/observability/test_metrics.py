"""What Prometheus is shown: right values, right names, bounded labels, over real HTTP."""

import asyncio
import os
import re
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from loopback import Gateway, ask, client, gateway, one_endpoint, settled
from patience import PROMPTLY
from running_gateway import running_gateway
from scraped_metrics import Samples, samples, scrape
from scripted_upstream import HELLO, LAST_CHUNK, SSE, WHOLE, Call, answer, chunk, upstream
from streamweir_gateway.observability.metrics import Metrics
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import GAP_BOUNDS, RequestRecord

pytestmark = pytest.mark.anyio

REFUSED = "http://127.0.0.1:1"


async def until(running: Gateway, name: str, value: float, **labels: str) -> None:
    async with asyncio.timeout(PROMPTLY):
        while (await samples(running)).get(name, **labels) != value:  # noqa: ASYNC110 - the page only
            await asyncio.sleep(0.02)


async def test_stream_is_counted() -> None:
    async def slowly(call: Call) -> None:
        await call.send(SSE, *map(chunk, HELLO), LAST_CHUNK, pause=0.03)

    async with upstream(slowly) as server, gateway(one_endpoint(server.url)) as running:
        got = (await ask(running)).assert_valid()
        await running.log.next_line()
        shown = await samples(running)
    assert shown.get("requests_total", endpoint="/chat", status="200", code="") == 1
    assert shown.get("streams_total", endpoint="/chat", upstream=server.url, reason="done") == 1
    assert shown.get("streams_open", endpoint="/chat") == 0
    assert shown.get("events_total", endpoint="/chat") == len(got.events)
    assert shown.get("client_bytes_total", endpoint="/chat") == len(got.body)
    assert shown.get("upstream_bytes_total", endpoint="/chat") == len(b"".join(HELLO))
    assert shown.get("time_to_first_event_seconds_count", endpoint="/chat") == 1
    assert shown.get("event_gap_seconds_count", endpoint="/chat") == 2
    assert 0.05 < shown.get("event_gap_seconds_sum", endpoint="/chat") < 5
    assert shown.get("event_gap_seconds_bucket", endpoint="/chat", le="0.01") == 0
    assert shown.get("stream_duration_seconds_count", endpoint="/chat") == 1
    assert shown.get("stream_duration_seconds_sum") > shown.get("event_gap_seconds_sum")


async def test_refusal_before_a_request_is_complete_is_counted() -> None:
    async with gateway(one_endpoint(REFUSED)) as running:
        reader, writer = await asyncio.open_connection(*running.address)
        writer.write(b"junk\r\n\r\n")
        assert await reader.read()
        writer.transport.abort()
        shown = await samples(running)
    assert shown.get("requests_total", endpoint="none", status="400", code="BAD_REQUEST") == 1


async def test_series_are_there_before_the_first_request() -> None:
    async with gateway(one_endpoint(REFUSED)) as running:
        text = (await scrape(running)).body.decode()
    shown = Samples(text)
    for name in ("events_total", "streams_open", "stream_duration_seconds_count"):
        assert f'streamweir_{name}{{endpoint="/chat"}} 0.0' in text
    assert f'streamweir_breaker_state{{upstream="{REFUSED}"}} 0.0' in text
    assert shown.get("build_info") == 1


async def test_open_stream_is_counted_as_open() -> None:
    async def begins(call: Call) -> None:
        await call.send(SSE, chunk(HELLO[0]))
        await call.until_closed()

    async with upstream(begins) as server, gateway(one_endpoint(server.url)) as running:
        async with client(running) as connected:
            connected.send()
            await connected.until(b"Hel")
            await until(running, "streams_open", 1, endpoint="/chat")
        await until(running, "streams_open", 0, endpoint="/chat")
        shown = await samples(running)
    assert shown.get("streams_total", reason="client_gone") == 1
    assert shown.get("requests_total") == 1


async def test_failures_and_retries_are_counted() -> None:
    config = settled(
        upstreams={"dead": {"url": REFUSED, "retries": {"attempts": 3, "backoff": "1ms"}}},
        endpoints={"/chat": {"upstream": "dead", "speaks": "legacy"}},
    )
    async with gateway(config) as running:
        got = (await ask(running)).assert_valid()
        shown = await samples(running)
        line = running.log.lines[-1]
    assert got.end["reason"] == "upstream_unreachable"
    assert shown.get("retries_total", upstream="dead") == 2
    assert shown.get("upstream_failures_total", upstream="dead", code="UPSTREAM_UNREACHABLE") == 3
    assert shown.get("streams_total", upstream="dead", reason="upstream_unreachable") == 1
    assert shown.get("requests_total", status="200", code="UPSTREAM_UNREACHABLE") == 1
    assert line["attempts"] == 3


async def test_state_of_the_breaker_is_exposed() -> None:
    config = settled(
        upstreams={"dead": {"url": REFUSED, "breaker": {"failures": 1, "open_for": "60s"}}},
        endpoints={"/chat": {"upstream": "dead", "speaks": "legacy"}},
    )
    async with gateway(config) as running:
        assert (await samples(running)).get("breaker_state", upstream="dead") == 0
        await ask(running)
        assert (await samples(running)).get("breaker_state", upstream="dead") == 1


async def test_malformed_events_are_counted() -> None:
    script = answer(
        HELLO[0] + b"data: {nonsense\n\n" * 3 + b"".join(HELLO[1:]), "Content-Type: text/event-stream"
    )
    async with upstream(script) as server, gateway(one_endpoint(server.url)) as running:
        (await ask(running)).assert_valid()
        shown = await samples(running)
        line = running.log.lines[-1]
    assert shown.get("malformed_events_total", endpoint="/chat", upstream=server.url) == 3
    assert line["malformed"] == 3


async def test_refusal_is_not_counted_as_a_stream() -> None:
    async with gateway(one_endpoint(REFUSED, limits={"request_bytes": 10})) as running:
        got = await ask(running, body=b"x" * 11)
        shown = await samples(running)
    assert got.status == 413
    assert shown.get("requests_total", endpoint="/chat", status="413", code="REQUEST_TOO_LARGE") == 1
    assert shown.get("streams_total") == 0


async def test_values_of_clients_and_upstreams_are_no_labels() -> None:
    made_up = b'data: {"type": "error", "code": "MADE_UP_%d", "message": "x"}\n\n'
    count = 0

    async def fails(call: Call) -> None:
        nonlocal count
        count += 1
        await call.send(SSE, chunk(made_up % count), LAST_CHUNK)

    config = settled(
        endpoints={"/chat/{who}": {"upstream": "http://127.0.0.1:2", "speaks": "legacy"}},
        server={"metrics": "/numbers"},
    )
    async with upstream(fails) as server, gateway(one_endpoint(server.url)) as running:
        for number in range(3):
            await ask(running)
            await ask(running, target=f"/nowhere/{number}")
            await ask(running, method="PATCH", target="/chat")
        shown = await samples(running)
    assert shown.label_values("endpoint") == {"/chat", "none"}
    assert not {code for code in shown.label_values("code") if code.startswith("MADE")}
    assert shown.get("requests_total", endpoint="none", status="404", code="ENDPOINT_NOT_FOUND") == 3
    async with gateway(config) as running:
        await ask(running, target="/chat/alice")
        text = (await scrape(running, path="/numbers")).body.decode()
    assert "alice" not in text
    assert 'endpoint="/chat/{who}"' in text


async def test_each_application_counts_for_itself() -> None:
    async with (
        upstream(WHOLE) as server,
        gateway(one_endpoint(server.url)) as first,
        gateway(one_endpoint(server.url)) as second,
    ):
        await ask(first)
        assert (await samples(first)).get("requests_total") == 1
        assert (await samples(second)).get("requests_total") == 0


async def test_page_may_be_off_and_needs_no_key() -> None:
    keyed = settled(
        auth={"keys": {"web": "a-key-that-nobody-guesses"}},
        endpoints={"/chat": {"upstream": REFUSED, "speaks": "legacy"}},
    )
    async with gateway(keyed) as running:
        await scrape(running)
    off = settled(endpoints={"/chat": {"upstream": REFUSED, "speaks": "legacy"}}, server={"metrics": "off"})
    async with gateway(off) as running:
        assert (await ask(running, "GET", "/metrics", body=b"")).status == 404


@pytest.mark.parametrize(
    ("accept", "media_type", "parse"),
    [
        ("*/*", "text/plain; version=0.0.4; charset=utf-8", parse_text),
        ("", "text/plain; version=0.0.4; charset=utf-8", parse_text),
        ("text/plain;version=0.0.4", "text/plain; version=0.0.4; charset=utf-8", parse_text),
        ("application/openmetrics-text;q=0", "text/plain; version=0.0.4; charset=utf-8", parse_text),
        (
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
            "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,*/*;q=0.2",
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            parse_openmetrics,
        ),
        (
            'application/openmetrics-text;version="odd";q=x',
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            parse_openmetrics,
        ),
    ],
)
async def test_metrics_page_has_both_formats(accept: str, media_type: str, parse: Any) -> None:
    async with upstream(WHOLE) as server, gateway(one_endpoint(server.url)) as running:
        await ask(running)
        got = await scrape(running, accept=accept)
    assert got.header("content-type") == media_type
    text = got.body.decode()
    names = {family.name for family in parse(text)}
    assert {"streamweir_requests", "streamweir_event_gap_seconds", "streamweir_build_info"} <= names
    assert text.rstrip().endswith("# EOF") == (parse is parse_openmetrics)


async def test_exposition_follows_the_conventions() -> None:
    async with gateway(one_endpoint(REFUSED)) as running:
        await ask(running)
        text = (await scrape(running)).body.decode()
    assert re.fullmatch(r"(?:(?:# (?:HELP|TYPE) )?[a-z_]+[ {][^\n]+\n)+", text)
    lines = [line for line in text.split("\n") if line and not line.startswith("#")]
    assert len(lines) == len({line.rpartition(" ")[0] for line in lines}), "a series twice"
    for family in Samples(text).families.values():
        assert family.name.startswith("streamweir_")
        assert family.documentation.endswith(".")
        assert "_created" not in family.name
        for sample in family.samples:
            assert (family.type == "counter") == sample.name.endswith("_total")


@pytest.mark.slow
async def test_workers_are_shown_as_one(tmp_path: Path) -> None:
    async def begins(call: Call) -> None:
        if call.body == b"open":
            await call.send(SSE, chunk(HELLO[0]))
            await call.until_closed()
        await call.send(WHOLE)

    async with upstream(begins) as server, AsyncExitStack() as stack:
        endpoints = {"/chat": {"upstream": server.url, "speaks": "legacy"}}
        running = await stack.enter_async_context(
            running_gateway(tmp_path, endpoints=endpoints, server={"workers": 2})
        )
        await running.ready()
        for _ in range(10):
            (await ask(running.at)).assert_valid()
        for _ in range(20):
            connected = await stack.enter_async_context(client(running.at))
            connected.send(body=b"open")
            await connected.until(b"Hel")
        for _ in range(4):
            shown = await samples(running.at)
            assert shown.get("requests_total", status="200") == 10
            assert shown.get("stream_duration_seconds_count") == 10
            assert shown.get("event_gap_seconds_count") == shown.get("event_gap_seconds_bucket", le="+Inf")
            assert shown.families["streamweir_event_gap_seconds"].type == "histogram"
            assert not {name for name in shown.families if name.startswith("streamweir_event_gap_c")}
            assert shown.get("streams_open") == 20
            assert shown.get("breaker_state", upstream=server.url) == 0
            assert shown.get("build_info") == 1
        os.kill(running.workers()[0], signal.SIGKILL)
        await running.says("a worker ended")
        shown = await samples(running.at)
        assert shown.get("requests_total", status="200") == 10
        assert shown.get("streams_open") < 20


@pytest.mark.slow
async def test_counts_outlive_a_changed_configuration(tmp_path: Path) -> None:
    async with upstream(WHOLE) as server:
        endpoints = {"/chat": {"upstream": server.url, "speaks": "legacy"}}
        async with running_gateway(tmp_path, endpoints=endpoints) as running:
            await running.ready()
            await ask(running.at)
            running.signal(signal.SIGHUP)
            await running.says("taken over")
            await ask(running.at)
            shown = await samples(running.at)
    assert shown.get("requests_total", endpoint="/chat", status="200") == 2


class TestObserver:
    """What is told, without a server."""

    @staticmethod
    def record() -> RequestRecord:
        return RequestRecord("req_1", "POST", "/chat", "http://upstream", "legacy")

    def test_gaps_are_counted_by_bucket(self) -> None:
        metrics = Metrics()
        record = self.record()
        metrics.stream_opened(record)
        at = record.began
        for gap in (0.5, 0.0005, 0.001, 0.3, 200.0):
            at += gap
            record.note_read(at)
        metrics.request_ended(record)
        value = metrics.registry.get_sample_value
        name, labels = "streamweir_event_gap_seconds", {"endpoint": "/chat"}
        assert value(f"{name}_count", labels) == 4
        assert value(f"{name}_sum", labels) == pytest.approx(200.3015)
        assert value(f"{name}_bucket", {**labels, "le": "0.005"}) == 2
        assert value(f"{name}_bucket", {**labels, "le": "0.5"}) == 3
        assert value(f"{name}_bucket", {**labels, "le": str(GAP_BOUNDS[-1])}) == 3
        assert record.first_event_ms == pytest.approx(500)

    def test_fault_of_the_metrics_does_not_reach_the_client(self, caplog: pytest.LogCaptureFixture) -> None:
        class Broken:
            def info(self, event: str, /, **fields: Any) -> None:
                raise OSError("no space left on device")

            warning = info

        metrics = Metrics()
        observer = Observer(Broken(), metrics)
        for _ in range(3):
            record = self.record()
            observer.stream_opened(record)
            observer.ended(record)
        assert metrics.registry.get_sample_value("streamweir_streams_open", {"endpoint": "/chat"}) == 0
        assert len(caplog.records) == 1
        metrics.request_ended = None  # type: ignore[method-assign, assignment]
        observer.ended(self.record())
