"""What the operator is told of a stream that ended well without an answer."""

import pytest

from streamweir import Translator
from streamweir.codec.registry import process_dialects
from streamweir.translation.operator_hint import stream_hint


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        (
            b'event: metadata\ndata: {"run_id": "r", "attempt": 1}\n\n'
            + b'event: tasksX\ndata: {"method": "messages"}\n\nevent: tasksX\ndata: {"method": "tools"}\n\n'
            + b"event: end\ndata: null\n\n",
            "nothing was said in 4 events; no rule of langgraph-server knew 2 of them:"
            " method=messages, method=tools",
        ),
        (b'event: values\ndata: {"a": 1}\n\nevent: end\ndata: null\n\n', "nothing was said in 2 events"),
    ],
)
def test_hint_of_silent_stream_names_unknown_events(body: bytes, hint: str) -> None:
    translator = Translator(speaks="langgraph-server")
    translator.feed(body)
    translator.close()
    assert stream_hint(translator.stream, speaks="langgraph-server", dialects=process_dialects()) == hint
