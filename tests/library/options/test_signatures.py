"""Functions that take their options as one `TypedDict` show them, and refuse others."""

import inspect
from typing import Any

import pytest

from streamweir import EventStream, Translator
from streamweir.asgi import EventStreamResponse, NormalizeMiddleware, StreamweirMiddleware
from streamweir.asgi.normalize_options import NORMALIZE_DEFAULTS, NormalizeOptions, ResponseOptions
from streamweir.emit.event_stream_options import EVENT_STREAM_DEFAULTS, EventStreamOptions
from streamweir.translation.stream_options import STREAM_DEFAULTS, StreamOptions


async def app(_scope: Any, _receive: Any, _send: Any) -> None:
    """An application that answers nothing."""


TAKERS = [
    pytest.param(Translator, (), STREAM_DEFAULTS, id="Translator"),
    pytest.param(NormalizeMiddleware, (app,), NORMALIZE_DEFAULTS, id="NormalizeMiddleware"),
    pytest.param(StreamweirMiddleware, (app,), NORMALIZE_DEFAULTS, id="StreamweirMiddleware"),
    pytest.param(EventStream, ([],), EVENT_STREAM_DEFAULTS, id="EventStream"),
    pytest.param(EventStreamResponse, ([],), EVENT_STREAM_DEFAULTS, id="EventStreamResponse"),
]


@pytest.mark.parametrize(("taker", "arguments", "defaults"), TAKERS)
def test_signature_shows_every_option_with_its_default(
    taker: Any, arguments: tuple[Any, ...], defaults: dict[str, Any]
) -> None:
    shown = inspect.signature(taker).parameters
    assert {name: shown[name].default for name in defaults} == defaults
    assert not [one for one in shown.values() if one.kind is inspect.Parameter.VAR_KEYWORD]


@pytest.mark.parametrize(("taker", "arguments", "defaults"), TAKERS)
def test_unknown_option_raises_type_error(
    taker: Any, arguments: tuple[Any, ...], defaults: dict[str, Any]
) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'full_texts'"):
        taker(*arguments, speaks="legacy", full_texts="append")


@pytest.mark.parametrize(
    ("options", "defaults"),
    [
        ([StreamOptions], STREAM_DEFAULTS),
        ([NormalizeOptions, ResponseOptions, StreamOptions], NORMALIZE_DEFAULTS),
        ([EventStreamOptions], EVENT_STREAM_DEFAULTS),
    ],
)
def test_every_option_has_a_default_and_a_sentence(options: list[type], defaults: dict[str, Any]) -> None:
    assert options[0].__annotations__.keys() == defaults.keys()
    texts = " ".join(inspect.getdoc(one) or "" for one in options)
    assert not [name for name in options[0].__annotations__ if f"{name}: " not in texts]
