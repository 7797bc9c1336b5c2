"""Gemini answers whose enumerations are numbers (`enum-encoding=int`) mean the same as those with names."""

import json
from typing import Any

from cases import for_each
from streams import events_of, translate

FINISHES: dict[int, tuple[str, str | None]] = {
    1: ("completed", "stop"),
    2: ("completed", "length"),
    3: ("completed", "content_filter"),
    4: ("completed", "content_filter"),
    5: ("completed", "stop"),
    8: ("completed", "content_filter"),
    9: ("error", None),
    10: ("error", None),
}
"""The status and the finish reason of the end, by the number of the API's finish reason."""


def read(*parts: dict[str, Any], finish: int = 1) -> list[dict[str, Any]]:
    answer = [{"candidates": [{"content": {"parts": [*parts]}, "finishReason": finish}]}]
    return events_of(translate([json.dumps(answer).encode()], speaks="gemini"))


@for_each("number", FINISHES)
def test_numbered_finish_reason_ends_like_its_name(number: int) -> None:
    end = read({"text": "Hi"}, finish=number)[-1]["data"]
    assert (end["status"], end["summary"].get("finish_reason")) == FINISHES[number]


def test_numbered_finish_reason_without_a_known_name_completes_the_answer() -> None:
    events = read({"text": "Hi"}, finish=17)
    assert events[-1]["data"]["status"] == "completed"


@for_each("outcome", [(1, "success"), (2, "failed"), (3, "failed")])
def test_numbered_outcome_of_code_is_that_of_its_name(outcome: tuple[int, str]) -> None:
    number, status = outcome
    code = {"executableCode": {"language": 1, "code": "print(1)"}}
    events = read(code, {"codeExecutionResult": {"outcome": number, "output": "1"}})
    assert [event["data"]["status"] for event in events if event["type"] == "tool_call_end"] == [status]
