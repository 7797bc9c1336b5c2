"""The trace that a request belongs to goes on to the upstream, and into the log."""

import os
import sys

import pytest

from loopback import Gateway, ask, gateway, one_endpoint
from scripted_upstream import WHOLE, upstream
from streamweir_gateway.observability.trace_context import TraceContext, new_request_id, trace_context_of

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
VALID = f"00-{TRACE}-{PARENT}-01"


def context_of(*headers: tuple[str, str]) -> TraceContext:
    return trace_context_of([(name.encode(), value.encode("latin-1")) for name, value in headers])


def is_new(context: TraceContext) -> bool:
    hexadecimal = set("0123456789abcdef")
    assert len(context.trace_id) == 32
    assert len(context.span_id) == 16
    assert set(context.trace_id + context.span_id) <= hexadecimal
    return context.trace_id != TRACE


@pytest.mark.parametrize(
    ("traceparent", "flags"),
    [
        (VALID, "01"),
        (f"00-{TRACE}-{PARENT}-00", "00"),
        (f"00-{TRACE}-{PARENT}-03", "03"),
        (f"00-{TRACE}-{PARENT}-09", "01"),  # reserved flags are not handed on
        (f" {VALID}\t", "01"),
        (f"01-{TRACE}-{PARENT}-01", "01"),
        (f"cc-{TRACE}-{PARENT}-03", "01"),  # what a later version means by its other flags is unknown
        (f"cc-{TRACE}-{PARENT}-01-what-the-future-will-be-like", "01"),
        (f"cc-{TRACE}-{PARENT}-01-", "01"),
    ],
)
def test_valid_trace_is_continued(traceparent: str, flags: str) -> None:
    context = context_of(("TraceParent", traceparent))
    assert context.trace_id == TRACE
    assert context.span_id != PARENT
    assert context.headers() == [("traceparent", f"00-{TRACE}-{context.span_id}-{flags}")]


@pytest.mark.parametrize(
    "traceparent",
    [
        "",
        "-",
        "00",
        f"ff-{TRACE}-{PARENT}-01",
        f"00-{'0' * 32}-{PARENT}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        VALID.upper(),
        f"00-{TRACE.upper()}-{PARENT}-01",
        f"0-{TRACE}-{PARENT}-01",
        f"000-{TRACE}-{PARENT}-01",
        f"00-{TRACE[1:]}-{PARENT}-01",
        f"00-{TRACE}-{PARENT}0-01",
        f"00-{TRACE}-{PARENT}-1",
        f"00-{TRACE}-{PARENT}-011",
        f"00-{TRACE}-{PARENT}-01-",
        f"00-{TRACE}-{PARENT}-01-extra",
        f"cc-{TRACE}-{PARENT}-01.extra",
        f"cc-{TRACE}-{PARENT}-011",
        f"00-{TRACE}-{PARENT}-.0",
        f"00_{TRACE}_{PARENT}_01",
        f"00-{TRACE[:-1]}g-{PARENT}-01",
        f"00-{TRACE[:-1]}\xb2-{PARENT}-01",
        VALID + "\n",
        f"{VALID}, {VALID}",
    ],
)
def test_invalid_trace_is_begun_anew(traceparent: str) -> None:
    context = context_of(("traceparent", traceparent), ("tracestate", "a=1"))
    assert is_new(context)
    assert context.headers() == [("traceparent", f"00-{context.trace_id}-{context.span_id}-01")]


def test_two_traceparents_are_ignored() -> None:
    assert is_new(context_of(("traceparent", VALID), ("traceparent", VALID)))


def test_each_request_without_one_begins_its_own() -> None:
    assert len({context_of().trace_id for _ in range(100)}) == 100


@pytest.mark.parametrize(
    ("states", "sent"),
    [
        (["congo=t61rcWkgMzE"], "congo=t61rcWkgMzE"),
        (["rojo=00f067aa0ba902b7 , congo=t61", "a@b=x y"], "rojo=00f067aa0ba902b7,congo=t61,a@b=x y"),
        (["", " , ,"], ""),
        (["a=1,b"], ""),
        (["A=1"], ""),
        (["a=1=2"], ""),
        (["a=\x80"], ""),
        ([",".join(f"k{number}=v" for number in range(33))], ""),
    ],
)
def test_tracestate_is_forwarded_whole_or_dropped(states: list[str], sent: str) -> None:
    context = context_of(("traceparent", VALID), *(("tracestate", state) for state in states))
    assert context.tracestate == sent
    assert context.trace_id == TRACE


async def traced(running: Gateway, *headers: tuple[str, str]) -> dict[str, object]:
    got = (await ask(running, headers=headers)).assert_valid()
    assert got.header("traceparent") is None
    return await running.log.next_line()


@pytest.mark.anyio
async def test_upstream_and_the_log_get_the_trace() -> None:
    async with upstream(WHOLE) as server, gateway(one_endpoint(server.url)) as running:
        line = await traced(running, ("traceparent", VALID), ("tracestate", "congo=t61"))
    assert line["trace_id"] == TRACE
    assert server.call.header("traceparent") == f"00-{TRACE}-{line['span_id']}-01"
    assert server.call.header("tracestate") == "congo=t61"


@pytest.mark.anyio
async def test_request_without_a_trace_gets_one() -> None:
    async with upstream(WHOLE) as server, gateway(one_endpoint(server.url)) as running:
        line = await traced(running, ("traceparent", VALID.upper()), ("tracestate", "congo=t61"))
    sent = [value for name, value in server.call.headers if name == "traceparent"]
    assert sent == [f"00-{line['trace_id']}-{line['span_id']}-01"]
    assert server.call.header("tracestate") is None


@pytest.mark.anyio
async def test_forwarded_trace_headers_do_not_replace_the_own_ones() -> None:
    options = {"forward_headers": ["Traceparent", "Tracestate"]}
    async with upstream(WHOLE) as server, gateway(one_endpoint(server.url, **options)) as running:
        line = await traced(running, ("traceparent", VALID), ("tracestate", "not a state"))
    sent = [pair for pair in server.call.headers if pair[0].startswith("trace")]
    assert sent == [("traceparent", f"00-{TRACE}-{line['span_id']}-01")]


@pytest.mark.skipif(sys.platform == "win32", reason="processes are not forked")
def test_new_request_id_in_a_forked_process_is_one_of_its_own() -> None:
    new_request_id()  # some digits are drawn before the fork
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        os.write(write, new_request_id().encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read) as pipe:
        assert pipe.read() != new_request_id()
