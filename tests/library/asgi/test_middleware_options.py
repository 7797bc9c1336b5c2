"""Options of the middleware: wrong ones are refused at construction, defaults cost nothing."""

import inspect
import subprocess
import sys
from typing import Any

import pytest

from hosts import streaming
from places import DOCS
from streamweir import ConfigurationError, UnknownDialectError
from streamweir.asgi import (
    NormalizeMiddleware,
    RequestIDMiddleware,
    SafeErrorMiddleware,
    StreamweirMiddleware,
)
from streamweir.http.paths import PathPatterns

APP = streaming()


@pytest.mark.parametrize(
    "options",
    [
        {"answers": []},
        {"answers": ("standard", "nope")},
        {"framing": "xml"},
        {"media_types": ()},
        {"media_types": ["event-stream"]},
        {"heartbeat": "soon"},
        {"heartbeat": 0},
        {"timeouts": {"idel": "5s"}},
        {"timeouts": {"idle": "5 parsecs"}},
        {"timeouts": {"connect": "5s"}},
        {"timeouts": {"idle": "5s", "total": "1s"}},
        {"timeouts": "5s"},
        {"full_text": "sometimes"},
        {"protocol_options": {"standard": {"version": "7"}}},
        {"limits": {"event_bytes": "much"}},
        {"warnings": [{"code": "X"}]},
        {"warnings": "a text"},
        {"paths": "chat"},
        {"paths": ["/a", "/b*c"]},
        {"paths": ["/a/{b"]},
    ],
)
@pytest.mark.parametrize("middleware", [NormalizeMiddleware, StreamweirMiddleware])
def test_wrong_option_raises_a_configuration_error(middleware: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        middleware(APP, speaks="legacy", **options)


def test_unknown_dialect_is_reported_with_a_suggestion() -> None:
    for make in (
        lambda: StreamweirMiddleware(APP, speaks="legcy"),
        lambda: NormalizeMiddleware(APP, speaks="auto", answers=["legcy"]),
        lambda: SafeErrorMiddleware(APP, speaks="legcy"),
    ):
        with pytest.raises(UnknownDialectError, match="did you mean 'legacy'"):
            make()


def test_options_can_be_turned_off() -> None:
    StreamweirMiddleware(
        APP, speaks="auto", heartbeat="off", timeouts={"idle": "off", "total": None}, answers="legacy"
    )


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        ("/chat", "/chat", True),
        ("/chat", "/chat/", False),
        ("/chat", "/chats", False),
        ("/a.c", "/abc", False),
        ("/agents/{id}/run", "/agents/7/run", True),
        ("/agents/{id}/run", "/agents/7/8/run", False),
        ("/agents/{id}/run", "/agents//run", False),
        ("/agent/*", "/agent/", True),
        ("/agent/*", "/agent/a/b", True),
        ("/agent/*", "/agent", False),
        ("/agent*", "/agents/x", True),
        ("*", "/", True),
        ("/{a}/x*", "/1/x\ny", True),
    ],
)
def test_path_pattern_covers_its_paths(pattern: str, path: str, covered: bool) -> None:
    assert PathPatterns(pattern).cover({"path": path}) is covered
    assert PathPatterns(["/elsewhere", pattern]).cover({"path": path}) is covered


@pytest.mark.parametrize(
    ("pattern", "path", "root_path", "covered"),
    [
        ("/chat", "/app/chat", "/app", True),  # uvicorn --root-path, a mount of Starlette
        ("/chat", "/app/chat", "/app/", True),
        ("/chat", "/chat", "/app", True),  # a server that leaves the prefix out of the path
        ("/app/chat", "/app/chat", "/app", True),
        ("/app/*", "/app/chat", "/app", True),
        ("/chat", "/app/v1/chat", "/app/v1", True),
        ("/chat", "/app/v1/chat", "/app", False),
        ("/chat", "/apps/chat", "/app", False),
        ("/", "/app", "/app", True),
        ("/*", "/app/", "/app", True),
        ("/agents/{id}", "/app/agents/7", "/app", True),
        ("/app", "/app/app", "/app", True),
        ("/chat", "/chat/chat", "/chat", True),
    ],
)
def test_path_pattern_below_a_prefix_covers_its_paths(
    pattern: str, path: str, root_path: str, covered: bool
) -> None:
    assert PathPatterns(pattern).cover({"path": path, "root_path": root_path}) is covered


def test_missing_pattern_covers_every_path() -> None:
    assert PathPatterns(None).cover({"path": "/anything"})
    assert not PathPatterns([]).cover({"path": "/anything"})


def test_middleware_needs_no_framework() -> None:
    code = (
        "import sys, threading, logging; from streamweir.asgi import StreamweirMiddleware as M\n"
        "async def app(scope, receive, send): ...\n"
        "M(app, speaks='auto', answers=['standard', 'legacy'])\n"
        "assert not {'starlette', 'httpx', 'uvicorn', 'pydantic'} & set(sys.modules)\n"
        "assert threading.active_count() == 1 and not logging.getLogger('streamweir').handlers\n"
        "from streamweir.asgi import EventStreamResponse, preflight_error\n"
        "assert 'starlette' in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=60)


def test_middleware_page_documents_every_option() -> None:
    page = (DOCS / "middleware.md").read_text()
    options = [
        name
        for middleware in (
            StreamweirMiddleware,
            NormalizeMiddleware,
            RequestIDMiddleware,
            SafeErrorMiddleware,
        )
        for name in inspect.signature(middleware).parameters
        if name != "app"
    ]
    assert [name for name in options if f"| `{name}` |" not in page] == []


def test_streamweir_middleware_takes_the_options_of_its_parts() -> None:
    parts = {
        **inspect.signature(NormalizeMiddleware).parameters,
        **inspect.signature(RequestIDMiddleware).parameters,
    }
    whole = inspect.signature(StreamweirMiddleware).parameters
    assert {name: option.default for name, option in whole.items()} == {
        name: option.default for name, option in parts.items()
    }
    assert [option.kind for option in whole.values()][1:] == [inspect.Parameter.KEYWORD_ONLY] * (
        len(whole) - 1
    )
