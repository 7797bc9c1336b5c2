"""Changes a request that its upstream has refused because of reasoning, so that it can be sent once more.

Source: the conversation contract, section 4 (lost).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from streamweir.failures.upstream_refusal import UpstreamRefusal
from streamweir_gateway.requests.offers import Offer

__all__ = ["mended_early", "mended_offer", "model_of"]

_STATUSES: Final = frozenset({400, 404})
_WORDS: Final = re.compile(r"thinking|signature|reasoning|encrypted|item with id", re.IGNORECASE)


def mended_offer(offer: Offer | None, refusal: UpstreamRefusal | None) -> Offer | None:
    """Return the changed offer to send after a refusal; None if the client gets the refusal.

    Args:
        offer: the offer that was refused; None: it has been released.
        refusal: the error status of the upstream, which sent no event.
    """
    if offer is None or refusal is None:
        return None
    words = (refusal.body or b"").decode("utf-8", "replace")
    if refusal.status not in _STATUSES or not _WORDS.search(words):
        return None
    return _mended(offer.unmended or offer, words)


def mended_early(offer: Offer, words: str | None) -> Offer:
    """Return the offer without the field that the upstream has lately refused.

    Args:
        offer: an offer that has not been sent.
        words: the words of that refusal; None: no field was refused.
    """
    mended = None if words is None else _mended(offer, words)
    return offer if mended is None else replace(mended, unmended=offer)


def model_of(offer: Offer) -> str:
    """Return the model that a request names; empty if it names no model."""
    body = offer.written[-1].body if offer.written else None
    model = body.get("model") if isinstance(body, Mapping) else None
    return model if isinstance(model, str) else ""


def _mended(offer: Offer, words: str) -> Offer | None:
    if offer.mend is None or not offer.written:
        return None
    *first, last = offer.written
    body = offer.mend(last.body, words) if isinstance(last.body, Mapping) else None
    if body is None:
        return None
    written = [*first, replace(last, body=body)]
    lasting = words if offer.is_lasting is not None and offer.is_lasting(words) else None
    return replace(
        offer,
        written=written,
        mend=None,
        is_mended=True,
        turns={**offer.turns, "mended": 1},
        lasting_refusal=lasting,
    )
