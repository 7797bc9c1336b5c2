"""A stream that is cut behind a call for the client is truncated: the client would act on half of a plan.

Source: the standard protocol 1.1, section 3 rule 8.
"""

from cases import case
from places import RECORDED
from streams import events_of
from streamweir import Translator

ENDS = {"coze/requires-action", "vercel-ui/client_tools"}
"""Recordings in which the frame that hands over the call is also the evidence of the end."""


def recordings() -> dict[str, tuple[bytes, int]]:
    """Return the streams that hand over a call before their last frame, each with the place of the cut."""
    found = {}
    for path in sorted(RECORDED.glob("*/*.sse")):
        name, body = f"{path.parent.name}/{path.stem}", path.read_bytes()
        if name not in ENDS and (end := call_end(path.parent.name, body)):
            found[name] = body, end
    return found


def call_end(dialect: str, body: bytes) -> int | None:
    """Return the end of the line with the first call for the client, if more lines follow."""
    asked = {
        event["data"]["interaction_id"]
        for event in events_of(Translator(speaks=dialect, framing="ndjson").feed(body))
        if event["type"] == "interaction" and event["data"]["kind"] == "tool"
    }
    translator, start = Translator(speaks=dialect, framing="ndjson"), 0
    for line in body.splitlines(keepends=True):
        start += len(line)
        for event in events_of(translator.feed(line)):
            if event["type"] == "tool_call_start" and event["data"]["tool_id"] in asked:
                return start if body[start:].strip() else None
    return None


def test_stream_cut_behind_a_clients_call_is_truncated() -> None:
    streams = recordings()
    assert len(streams) >= 5
    for name, (body, end) in streams.items():
        with case(name):
            assert_truncated(name, body, end)


def assert_truncated(name: str, body: bytes, end: int) -> None:
    translator = Translator(speaks=name.partition("/")[0], framing="ndjson")
    events = events_of(translator.feed(body[:end]) + translator.close())
    errors = [event["data"]["code"] for event in events if event["type"] == "error"]
    assert (errors, events[-1]["data"]["status"]) == (["UPSTREAM_TRUNCATED"], "error")
