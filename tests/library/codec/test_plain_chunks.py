"""A plain chunk is read in a short way, which has the same result as the long one."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from streamweir.codec.families.openai_chunks import ChunkReader
from streamweir.codec.families.plain_chunks import plain_chunk
from streamweir.codec.families.ragflow_chunks import RagflowChunkReader
from streamweir.events import Content, Meta, SessionStart

VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-1, 2)
    | st.sampled_from(["", "a", "error", "<think>", [], {}, ["x"]])
)
DELTAS = st.fixed_dictionaries(
    {},
    optional={
        "role": st.just("assistant") | VALUES,
        "content": st.text(max_size=5) | VALUES,
        "reasoning_content": VALUES,
        "tool_calls": VALUES,
        "refusal": VALUES,
        "reference": VALUES,
    },
)
CHOICES = st.fixed_dictionaries(
    {"delta": DELTAS | VALUES},
    optional={
        "index": st.sampled_from([0, 0, 0, 1, None, False, 0.0]),
        "finish_reason": st.none() | st.sampled_from(["stop", "", "length", "error", "tool_call_results"]),
        "logprobs": VALUES,
        "message": VALUES,
        "error": VALUES,
    },
)
CHUNKS = st.fixed_dictionaries(
    {"choices": st.lists(CHOICES, min_size=0, max_size=2) | CHOICES.map(lambda choice: [choice])},
    optional={
        "id": st.sampled_from(["c1", "c2", ""]),
        "object": st.sampled_from(["chat.completion.chunk", "error", None]),
        "usage": st.none() | st.just({"prompt_tokens": 1}),
        "system_fingerprint": VALUES,
        "error": VALUES,
        "other": VALUES,
    },
)


def state_of(reader: ChunkReader) -> dict[str, Any]:
    return {name: value for name, value in vars(reader).items() if not hasattr(value, "__dict__")}


@given(st.lists(CHUNKS, max_size=4), CHUNKS)
def test_plain_chunk_has_the_events_of_any_chunk(before: list[dict[str, Any]], chunk: dict[str, Any]) -> None:
    for make in (ChunkReader, RagflowChunkReader):
        short, long = make(), make()
        for reader in (short, long):
            for earlier in before:
                for _ in reader.read(earlier):
                    pass
        plain = short.read_plain(chunk)
        if plain is not None:
            assert [*long.read(chunk)] == [*plain]
            assert state_of(short) == state_of(long)


def test_plain_chunks_are_those_of_usual_servers() -> None:
    def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return {
            "id": "c1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [choice],
        }

    reader = RagflowChunkReader()
    meta: Meta = {"message_id": "c1"}
    start = SessionStart(meta={"message_id": "c1", "extra": {"model": "m"}})
    assert reader.read_plain(chunk({"role": "assistant", "content": ""})) == (start,)
    assert reader.read_plain(chunk({"content": "Hi"})) == (Content("Hi", meta=meta),)
    assert reader.read_plain(chunk({}, "stop")) == ()
    assert (reader.complete, reader.summary) == (True, {"finish_reason": "stop"})
    assert plain_chunk(chunk({"content": "Hi", "refusal": "no"})) is None
