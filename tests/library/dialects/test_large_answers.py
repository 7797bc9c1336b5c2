"""An answer that is larger than an encoder may repeat ends with an error in every protocol.

Source: the standard protocol 1.1, section 5 (`STREAM_LIMIT_EXCEEDED`); 3.8: every stream has an end.
"""

import json
from typing import Any

import pytest

from cases import for_each
from streamweir import Translator
from streamweir.codec.registry import process_dialects

READ_AGAIN = [name for name in process_dialects().writable if name in process_dialects().readable]
WORDS = [f"word{number} " for number in range(60)]


def event(kind: str, **data: Any) -> bytes:
    return f"data: {json.dumps({'type': kind, 'data': data})}\n\n".encode()


def call(number: int, size: int) -> bytes:
    given = {"a": "x" * size}
    return event("tool_call_start", tool_id=f"t{number}", tool_name="f", arguments=given)


ANSWERS = {
    "text": [event("content", content=word) for word in WORDS],
    "thoughts": [event("thinking", content=word) for word in WORDS],
    "arguments": [
        event("tool_call_start", tool_id="t", tool_name="f", arguments={}),
        *(event("tool_call_delta", tool_id="t", arguments_delta=word) for word in WORDS),
    ],
    "text beside a call": [call(1, 100), *(event("content", content=word) for word in WORDS)],
    "calls": [call(number, 50) for number in range(40)],
    "citations": [
        event("content", content="a "),
        *(
            event("reference", citations=[{"url": f"http://x/{number}", "title": "t" * 150}])
            for number in range(40)
        ),
    ],
}


def error_of(body: list[bytes], *, limit: int | None, **options: Any) -> tuple[bytes, str | None]:
    limits = None if limit is None else {"event_bytes": limit}
    translator = Translator(**options, limits=limits)
    written = b"".join(map(translator.feed, body)) + translator.close()
    error = translator.stream.pipeline.lifecycle.error
    return written, None if error is None else error.code


@pytest.mark.parametrize("at_once", [True, False])
@for_each("answer", ANSWERS)
def test_answer_that_exceeds_a_limit_ends_with_an_error(answer: str, at_once: bool) -> None:
    events = [event("session_start", protocol="1.1"), *ANSWERS[answer]]
    body = [b"".join(events)] if at_once else events
    found = 0
    for dialect in READ_AGAIN:
        for limit in (150, 300, 700):
            written, code = error_of(
                body, limit=limit, speaks="standard", answers=dialect, stream_tool_arguments=True
            )
            if code == "STREAM_LIMIT_EXCEEDED":
                found += 1
                _, read = error_of([written], limit=None, speaks=dialect)
                assert read not in (None, "UPSTREAM_TRUNCATED"), (dialect, limit, written[-300:])
    assert found, "some limit is exceeded"
