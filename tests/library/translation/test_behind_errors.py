"""What an upstream sends behind its error, in streams that are copied."""

import json
from typing import Any

import pytest

from streams import translate

ERROR = {"type": "error", "errorText": "broken"}


@pytest.mark.parametrize("kind", [[], {}, None, 7, "text-delta"])
def test_frame_of_any_type_behind_an_error_ends_the_stream(
    kind: object, caplog: pytest.LogCaptureFixture
) -> None:
    messages: list[dict[str, Any]] = [{"type": "start"}, ERROR, {"type": kind}]
    body = "".join(f"data: {json.dumps(message)}\n\n" for message in messages).encode()
    copied = translate([body], speaks="vercel-ui", answers="vercel-ui")
    assert copied.count(b'"type":"error"') == 1
    assert b"INTERNAL" not in copied
    assert not caplog.records
