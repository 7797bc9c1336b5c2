"""What of AG-UI's protocol no recorded stream shows."""

import json
import time
from collections.abc import Sequence

from streamweir import convert
from streamweir.dialects.ag_ui.decode import AgUiDecoder
from streamweir.events import Event
from streamweir.framing import Frame


def events_of_history(*messages: tuple[str, str]) -> Sequence[Event]:
    history = [{"role": role, "content": text} for role, text in messages]
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": history}
    return [*AgUiDecoder().decode(Frame(json.dumps(snapshot).encode()))]


def test_equal_words_before_the_question_are_history() -> None:
    assert len(events_of_history(("assistant", "31"), ("user", "Sure?"), ("assistant", "31"))) == 1


def test_long_history_takes_time_in_proportion() -> None:
    messages = [("user", "How many?"), *(("assistant", f"{number}") for number in range(20_000))]
    start = time.thread_time()
    assert len(events_of_history(*messages)) == 20_000
    assert time.thread_time() - start < 3


def test_chunks_of_calls_without_ids_are_calls() -> None:
    chunks = [
        {"type": "TOOL_CALL_CHUNK", "toolCallName": "w", "delta": '{"c":'},
        {"type": "TOOL_CALL_CHUNK", "delta": "1}"},
        {"type": "TOOL_CALL_CHUNK", "toolCallName": "v", "delta": "{}"},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
    ]
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode()
    folded = json.loads(convert(body, speaks="ag-ui", framing="json"))
    calls = [(call["tool_name"], call["arguments"]) for call in folded["message"]["tool_calls"]]
    assert calls == [("w", {"c": 1}), ("v", {})]
