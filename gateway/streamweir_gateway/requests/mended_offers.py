"""A request that its upstream has refused because of reasoning, changed so that it can be sent once more.

Source: the conversation contract, section 4 (lost).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Final

from streamweir.failures.upstream_refusal import UpstreamRefusal
from streamweir_gateway.requests.offers import Offer

__all__ = ["mended_offer"]

_STATUSES: Final = frozenset({400, 404})
_WORDS: Final = re.compile(r"thinking|signature|reasoning|encrypted|item with id", re.IGNORECASE)


def mended_offer(offer: Offer | None, refusal: UpstreamRefusal | None) -> Offer | None:
    """Return the offer to be sent after a refusal; None if the refusal is the answer.

    Args:
        offer: that was refused; None: it has been released.
        refusal: of the upstream, before its first event.
    """
    if offer is None or offer.mend is None or not offer.written or refusal is None:
        return None
    words = (refusal.body or b"").decode("utf-8", "replace")
    if refusal.status not in _STATUSES or not _WORDS.search(words):
        return None
    *first, last = offer.written
    body = offer.mend(last.body, words) if isinstance(last.body, Mapping) else None
    if body is None:
        return None
    written = [*first, last._replace(body=body)]
    counts = {**offer.turns, "mended": 1}
    return dataclasses.replace(offer, written=written, mend=None, is_mended=True, turns=counts)
