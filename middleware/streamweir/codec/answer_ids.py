"""Ids by which a chat client answers a call that an agent waits for.

Chat protocols have no conversations: a tool's result names its call by an id and nothing else. The id that an
upstream gives a call (`call_1`) may be the same for two users at once, and can be guessed. So the client gets
an id that this library makes. The id is a digest of the upstream's id and of a secret that is random for each
request: an answer under this id belongs to one question only, and only the asked client knows the id.

Source: the request contract, section 5 (answering an interaction).
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Any, Final

from streamweir.events import Interaction

__all__ = ["answer_id", "is_answer_id", "new_answer_secret", "waits_for_client", "with_answer_ids"]

_PREFIX: Final = "call_sw_"
"""The beginning of every answer id. With the 32 digits after it, an id is as long as OpenAI lets an id be."""

_DIGEST_BYTES: Final = 16


def new_answer_secret() -> str:
    """Return a random secret for the answer ids of one request: 32 hexadecimal digits."""
    return secrets.token_hex(_DIGEST_BYTES)


def answer_id(secret: str, interaction_id: str) -> str:
    """Return the id that the client is given for a question.

    Args:
        secret: the secret of the request in which the question is asked.
        interaction_id: the upstream's id of the question.
    """
    text = f"{secret}:{interaction_id}".encode("utf-8", "surrogatepass")
    return _PREFIX + hashlib.blake2b(text, digest_size=_DIGEST_BYTES).hexdigest()


def is_answer_id(text: str) -> bool:
    """Return whether `text` has the form of the ids that `answer_id` makes."""
    return text.startswith(_PREFIX)


def waits_for_client(event: Interaction) -> bool:
    """Return whether an agent waits for the result of a call that the client runs.

    If it does, the upstream needs the `resume` of the event again. A call of a model has no `resume`: its
    result is a message.
    """
    return event.state == "requested" and event.kind == "tool" and event.resume is not None


def with_answer_ids(folded: dict[str, Any], secret: str | None) -> dict[str, Any]:
    """Return the folded result, in which the calls that an agent waits for have their answer ids.

    Args:
        folded: the result; it is changed.
        secret: the secret of the request; None: the ids of the upstream are kept.
    """
    message = folded["message"]
    waiting = {
        asked["interaction_id"]
        for asked in message["interactions"]
        if asked["kind"] == "tool" and asked["state"] == "requested" and asked.get("resume") is not None
    }
    if secret is None or not waiting:
        return folded
    for item, name in (
        *((asked, "interaction_id") for asked in message["interactions"]),
        *((call, "tool_id") for call in message["tool_calls"]),
    ):
        if item[name] in waiting:
            item[name] = answer_id(secret, item[name])
    return folded
