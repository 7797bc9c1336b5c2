"""Coze's chat, version 3, and runs of its workflows.

Source: coze-dev/coze-py 0.20 `cozepy/chat`; the documentation of the open platform.
Intended differences: a message that repeats as a whole is passed on once; calls and results, which share no
id, are paired by their order.
"""

from streamweir.codec.dialect import Dialect
from streamweir.codec.hints import Hints

__all__ = ["DIALECT"]

DIALECT = Dialect(
    "coze",
    ".decode:CozeDecoder",
    summary=__doc__,
    package=__name__,
    hints=Hints(
        names=(
            *(f"conversation.chat.{name}" for name in ("created", "in_progress", "completed", "failed")),
            *("conversation.chat.requires_action", "conversation.chat.canceled"),
            *("conversation.message.delta", "conversation.message.completed", "conversation.audio.delta"),
            *("Message", "Interrupt", "Error"),
        )
    ),
    sample_request={
        "bot_id": "b1",
        "user_id": "streamweir",
        "stream": True,
        "additional_messages": [{"role": "user", "content": "Hello", "content_type": "text"}],
    },
    request_writer=".request:WRITER",
)
