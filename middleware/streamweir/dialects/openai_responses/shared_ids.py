"""Chooses the ids of the items of a written response: the upstream's ids, or made ids.

    state    entered by                                 id of the next message or call
    ──────   ────────────────────────────────────────   ─────────────────────────────────────────────────
    made     construction                               made of the id of the response and its place
    native   reasoning with its own encrypted content   the upstream's, if it is known and was not given yet

An upstream accepts encrypted content only with the id of its reasoning item, and with the ids of the items
after it. So these ids are kept together with the content: a client gets the values unchanged, and sends back
items that the upstream knows. A value whose item has a made id is sealed.

Source: the Responses API (reasoning items, `store`); the conversation contract, section 3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from streamweir.dialects.openai_responses.shared_words import NAME
from streamweir.ids import RecentIds
from streamweir.requests.opaque_values import native_text

__all__ = ["ItemIds", "is_made_id", "made_id"]

_MADE: Final = re.compile(r"[a-z]+_(?:req_[0-9A-Za-z-]+|[0-9a-f]{32})_\d+(?:_seal)?")
_REASONING: Final = "rs_"


def made_id(prefix: str, base: str, place: int) -> str:
    """Return the id that is made for an item.

    Args:
        prefix: the prefix for the kind of item.
        base: the part that all ids of a response have in common.
        place: the index of the item in the output.
    """
    return f"{prefix}_{base}_{place}"


def is_made_id(item_id: str) -> bool:
    """Return whether an id has the form of made ids, which no upstream knows."""
    return _MADE.fullmatch(item_id) is not None


class ItemIds:
    """Chooses the ids of the items of one response.

    Args:
        room: the number of bytes, roughly, of ids that may be remembered.
        may_be_native: whether the client gets opaque values, so that ids of the upstream may be used.
    """

    def __init__(self, room: int, *, may_be_native: bool) -> None:
        self._given: RecentIds[None] = RecentIds(room)
        self._may_be_native = may_be_native
        self._is_native = False

    def of_reasoning(self, known: Any, made: str) -> str:
        """Return the id of reasoning that begins.

        Args:
            known: the upstream's id; any id except that of a reasoning item is ignored.
            made: the id that is made for the item.
        """
        is_own = isinstance(known, str) and known.startswith(_REASONING)
        return self._chosen(known if is_own else None, made)

    def of_item(self, known: Any, made: str) -> str:
        """Return the id of a message or a call that begins; the arguments are as for `of_reasoning`."""
        return self._chosen(known if self._is_native else None, made)

    def native_value(self, opaque: Mapping[str, Mapping[str, Any]], item_id: str) -> str | None:
        """Return the encrypted content that reasoning with this id may have; None if it has to be sealed."""
        own = opaque.get(NAME, {})
        found = native_text(own, "encrypted_content")
        if found is None or not self._may_be_native or native_text(own, "id") != item_id:
            return None
        self._is_native = True
        return found

    def _chosen(self, known: Any, made: str) -> str:
        if not isinstance(known, str) or not known or not self._may_be_native or known in self._given:
            return made
        self._given.add(known, None)
        return known
