"""The meaning of a proper end of the body without the end of its dialect: `eof`, `final_answer`."""

import pytest

from streamweir import ConfigurationError, Translator
from streamweir.codec.dialects import Dialects

TOKEN = b'data: {"type":"token","content":"Hi"}\n\n'
ANSWER = b'data: {"type":"final_answer","content":"Hi"}\n\n'
CALL = b'data: {"type":"tool_call","tool_name":"search","tool_args":{}}\n\n'
RESULT = b'data: {"type":"tool_result","tool_name":"search","result":1}\n\n'
TABLE = b'data: {"type":"dataframe_data","data":{"name":"t","columns":["a"],"rows":[[1]]}}\n\n'


def reason_of(body: bytes, *, speaks: str = "legacy", fails: bool = False, eof: str = "truncated") -> str:
    """Return the reason of a stream whose body ends, or breaks off, behind `body`."""
    translator = Translator(speaks=speaks, eof=eof)  # type: ignore[arg-type]
    translator.feed(body)
    translator.fail("UPSTREAM_TRUNCATED") if fails else translator.close()
    return str(translator.reason)


@pytest.mark.parametrize(
    "body", [ANSWER, TOKEN + ANSWER, ANSWER + TABLE, ANSWER.rstrip(), CALL + RESULT + ANSWER + b": ping\n\n"]
)
def test_body_may_end_behind_its_final_answer(body: bytes) -> None:
    assert reason_of(body) == "done"


@pytest.mark.parametrize(
    "body", [TOKEN, ANSWER + TOKEN, ANSWER + CALL + RESULT, CALL + ANSWER, ANSWER + TOKEN[:20], ANSWER[:30]]
)
def test_body_with_open_parts_behind_its_final_answer_is_truncated(body: bytes) -> None:
    assert reason_of(body) in ("truncated", "malformed")


def test_body_that_breaks_off_behind_its_final_answer_is_truncated() -> None:
    assert reason_of(TOKEN + ANSWER, fails=True) == "truncated"


def test_silence_after_final_answer_is_an_idle_timeout() -> None:
    translator = Translator(speaks="legacy")
    translator.feed(ANSWER)

    assert not translator.complete


def test_body_without_an_end_completes_with_eof_complete() -> None:
    assert reason_of(TOKEN, eof="complete") == "done"
    assert reason_of(TOKEN.rstrip(), eof="complete") == "done"


@pytest.mark.parametrize("body", [b"", b": ping\n\n", CALL, TOKEN + CALL, TOKEN + TOKEN[:20]])
def test_half_a_body_is_truncated_with_eof_complete(body: bytes) -> None:
    assert reason_of(body, eof="complete") != "done"


def test_body_that_breaks_off_is_truncated_with_eof_complete() -> None:
    assert reason_of(TOKEN, fails=True, eof="complete") == "truncated"


@pytest.mark.parametrize(
    "dialect", sorted({*Dialects.built_in().readable} & {*Dialects.built_in().writable} - {"standard"})
)
def test_every_dialect_completes_with_eof_complete(dialect: str) -> None:
    writer = Translator(speaks="legacy", answers=dialect)
    begun = writer.feed(TOKEN * 3)

    assert reason_of(begun, speaks=dialect, eof="complete") == "done"


def test_unknown_messages_complete_with_a_warning() -> None:
    translator = Translator(speaks="legacy", eof="complete")

    out = translator.feed(b'data: {"kind":"chunk"}\n\n') + translator.close()

    assert translator.reason == "done"
    assert b"END_UNCONFIRMED" in out


def test_eof_with_another_word_raises() -> None:
    with pytest.raises(ConfigurationError, match="eof"):
        Translator(eof="end")  # type: ignore[arg-type]
