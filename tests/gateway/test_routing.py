"""Which route a path leads to: what Starlette's router finds, but for what its expressions let slip."""

import time
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.routing import Match
from starlette.routing import Route as StarletteRoute

from loopback import ask, gateway, settled
from scripted_upstream import WHOLE, upstream
from streamweir.http.paths import path_within
from streamweir_gateway.routing import Route, RoutingTable, methods_of, routes_of
from streamweir_gateway.runs.live_streams import LiveStreams

METHODS = ("GET", "POST")
TEMPLATES = ("/a", "/a/", "/a/{x}", "/{y}/b", "/a/b", "/{x}/{y}", "/a.{x}", "/{z}", "/a/b/{x}/d", "/")
PATHS = st.lists(st.sampled_from(["a", "b", "a.b", "{x}", "a%2Fb", "d", " ", "é"]), max_size=4).map(
    lambda segments: "/" + "/".join(segments)
)


async def nothing(*_: Any) -> None:
    """An application that is never called."""


def starlettes(routes: list[Route], method: str, path: str) -> tuple[str | None, dict[str, str]]:
    scope = {"type": "http", "method": method, "path": path}
    for route in routes:
        match, found = StarletteRoute(route.template, nothing, methods=route.methods).matches(scope)
        if match is Match.FULL:
            return route.template, found["path_params"]
    return None, {}


@given(
    templates=st.lists(st.sampled_from(TEMPLATES), unique=True),
    methods=st.lists(st.sampled_from([("POST",), ("POST", "PUT")]), min_size=10, max_size=10),
    method=st.sampled_from(["POST", "PUT", "GET"]),
    path=PATHS,
)
def test_table_finds_the_routes_of_starlettes_router(
    templates: list[str], methods: list[tuple[str, ...]], method: str, path: str
) -> None:
    named = [
        SimpleNamespace(
            template=template, listed_methods=own, relays_all=False, takes_any_method=False, models={}
        )
        for template, own in zip(templates, methods, strict=False)
    ]
    config: Any = SimpleNamespace(
        endpoints=named,
        known_dialects={},
        fingerprint="",
        server=SimpleNamespace(health=None, ready=None, metrics=None),
    )
    routes = routes_of(config, serve=lambda _: nothing, streams=LiveStreams(), metrics=nothing)
    found = RoutingTable(routes).find(method, path)
    ours = (found.route.template, found.path_params) if found is not None else (None, {})
    assert ours == starlettes(routes, method, path)


def test_line_break_at_the_end_is_part_of_the_path() -> None:
    table = RoutingTable([Route("/a", METHODS, nothing, None), Route("/b/{x}/c", METHODS, nothing, None)])
    assert table.find("GET", "/a") is not None
    assert table.find("GET", "/a\n") is None
    assert table.find("GET", "/b/1/c\n") is None


def test_names_that_share_a_segment_take_no_time() -> None:
    table = RoutingTable([Route("/{a}-{b}-{c}-{d}-{e}/x", METHODS, nothing, None)])
    began = time.process_time()
    assert table.find("GET", "/" + "a-" * 30_000) is None
    assert table.routes_at("/" + "-" * 60_000) == []
    assert time.process_time() - began < 5


def test_table_knows_all_methods_of_a_path() -> None:
    table = RoutingTable(
        [Route("/a/b", ("POST",), nothing, None), Route("/a/{x}", ("GET", "POST"), nothing, None)]
    )
    assert methods_of(table.routes_at("/a/b")) == ("POST", "GET")
    assert methods_of(table.routes_at("/c")) == ()


@pytest.mark.parametrize(
    ("path", "prefix", "expected"),
    [
        ("/chat", "", "/chat"),
        ("/gw/chat", "/gw", "/chat"),
        ("/gw", "/gw", ""),
        ("/gwen/chat", "/gw", "/gwen/chat"),
        ("/chat", "/gw", "/chat"),
    ],
)
def test_path_below_a_mount_prefix_is_found(path: str, prefix: str, expected: str) -> None:
    assert path_within({"path": path, "root_path": prefix}) == expected


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("method", "target", "status", "allow"),
    [
        ("POST", "/chat", 200, None),
        ("POST", "/ch%61t", 200, None),
        ("POST", "/chat/", 404, None),
        ("POST", "//chat", 404, None),
        ("POST", "/chat%0A", 404, None),
        ("POST", "/chat%00", 404, None),
        ("POST", "/CHAT", 404, None),
        ("POST", "/agents/a%2Fb/chat", 200, None),
        ("POST", "/agents/a%2F../chat", 404, None),
        ("POST", "/agents/7/chat", 200, None),
        ("POST", "/agents/a%20b%C3%A9/chat", 200, None),
        ("POST", "/agents/a%00b/chat", 404, None),
        ("POST", "/agents/a%2500b/chat", 404, None),
        ("POST", "/agents/a%0Ab/chat", 404, None),
        ("POST", "/agents/%7F/chat", 404, None),
        ("POST", "/agents/%C2%85/chat", 404, None),
        ("POST", "/agents/..%5Cb/chat", 404, None),
        ("POST", "/agents/a%255Cb/chat", 404, None),
        ("POST", "/agents/%252e%252e/chat", 404, None),
        ("POST", "/agents/a%250Ab/chat", 404, None),
        ("POST", "/agents/a.b..c/chat", 200, None),
        ("POST", "/agents/100%25/chat", 200, None),
        ("GET", "/agents/a%5Cb/chat", 404, None),
        ("GET", "/chat", 405, "POST"),
        ("HEAD", "/chat", 405, "POST"),
        ("GET", "/agents/7/chat", 405, "POST, PUT"),
    ],
)
async def test_route_over_a_socket_has_status_and_allow(
    method: str, target: str, status: int, allow: str | None
) -> None:
    async with upstream(WHOLE) as server:
        chat = {"upstream": server.url, "speaks": "legacy"}
        config = settled(endpoints={"/chat": chat, "/agents/{id}/chat": {**chat, "methods": ["POST", "PUT"]}})
        async with gateway(config) as running:
            answer = await ask(running, method, target, headers=[("X-Forwarded-Host", "/chat")])
            assert (answer.status, answer.header("allow")) == (status, allow)
            assert len(running.log.lines) == 1 or status == 200


CONTROL_CHARACTERS = [*range(0x20), 0x7F, *range(0x80, 0xA0)]


@pytest.mark.parametrize("template", ["/of/{name}/x", "/of/*", "/of/{name}/*"])
def test_template_with_any_coding_refuses_a_control_character(template: str) -> None:
    table = RoutingTable([Route(template, ("GET",), nothing, None)])
    for code in CONTROL_CHARACTERS:
        coded = quote(chr(code), safe="")
        for written in (coded, coded.lower(), coded.replace("%", "%25"), coded.replace("%", "%2525")):
            for name in (f"a{written}b", written, f"{written}b", f"a{written}"):
                raw = f"/of/{name}/x"
                assert table.find("GET", unquote(raw), raw) is None, raw
        raw = f"/of/a{chr(code)}b/x"
        assert table.find("GET", raw, quote(raw)) is None
    assert table.find("GET", "/of/a b\u00e9/x", "/of/a%20b%C3%A9/x") is not None
