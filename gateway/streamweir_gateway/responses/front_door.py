"""Handles requests of the Responses API, and stores their responses if the upstream does not.

For each upstream of the endpoint a request is handled in one of two ways:

    the upstream keeps responses   it speaks the client's protocol, and its request does not say
                                   `store: false`: the request is mapped unchanged, and nothing is kept
    the gateway keeps them         the history behind `previous_response_id` precedes the input, and the
                                   response is kept at its end

Source: the conversation contract, section 5.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec.structs

from streamweir.codec.base import Encoder
from streamweir.codec.dialect import Dialect
from streamweir.codec.dialects import Dialects
from streamweir.events import Stamp
from streamweir.http.refusals import Refusal
from streamweir.requests.errors import RequestError
from streamweir.requests.reading import parse_body
from streamweir.runs.store import RunStore, StoreUnavailable
from streamweir.translation.folded_writer import FoldedWriter
from streamweir_gateway.config import EndpointConfig
from streamweir_gateway.incoming import Incoming
from streamweir_gateway.requests.asked_upstream import AskedUpstream
from streamweir_gateway.requests.offers import Offer
from streamweir_gateway.requests.request_mapping import RequestMapping
from streamweir_gateway.responses.asked_response import (
    AskedResponse,
    response_not_found,
    unsupported_background,
)
from streamweir_gateway.responses.kept_response import PREFIX
from streamweir_gateway.responses.kept_responses import Continued, KeptResponses
from streamweir_gateway.responses.response_keeper import ResponseKeeper
from streamweir_gateway.responses.response_tap import ResponseTap

__all__ = [
    "FrontDoor",
    "OpenedResponse",
    "front_door",
    "keeps_responses",
    "new_response_id",
    "store_unavailable",
]

_PREVIOUS: Final = "previous_response_id"

_Upstream = TypeVar("_Upstream", bound=AskedUpstream)


def keeps_responses(protocol: Dialect) -> bool:
    """Return whether requests of this protocol name earlier responses."""
    return _PREVIOUS in protocol.echoed_fields


class Retention(NamedTuple):
    """The limits with which responses are stored.

    Attributes:
        keep: the seconds for which a response is kept after its last use.
        max_bytes: the most bytes of the text of one response.
        max_history: the most bytes of the responses that one request continues.
    """

    keep: float
    max_bytes: int
    max_history: int


class Opening(NamedTuple):
    """The facts about the answer to a request that the request does not contain.

    Attributes:
        answer_id: the id of the response.
        keeps_runs: whether the endpoint keeps runs, so that a response may go on without a client.
        options: the options of the client's protocol.
    """

    answer_id: str
    keeps_runs: bool
    options: Mapping[str, Any]


@dataclass(frozen=True)
class OpenedResponse(Generic[_Upstream]):
    """A request that has passed the front door.

    Attributes:
        incoming: the request, with the names for its response.
        offers: the offer for each upstream, in the order in which they are asked.
        keeper: stores the response; None: the response is not stored.
    """

    incoming: Incoming
    offers: Mapping[_Upstream, Offer]
    keeper: ResponseKeeper | None


def front_door(
    config: EndpointConfig, mapping: RequestMapping | None, dialects: Dialects, store: RunStore
) -> FrontDoor | None:
    """Return the front door of an endpoint; None if its clients send no requests of the Responses API.

    Args:
        config: the configuration of the endpoint, which was checked.
        mapping: the mapping of its requests.
        dialects: the dialects by name.
        store: stores the responses.
    """
    if mapping is None or config.request.kind != "mapped" or responses_protocol(config, dialects) is None:
        return None
    return FrontDoor(store, config.template, mapping, dialects, retention_of(config))


def responses_protocol(config: EndpointConfig, dialects: Dialects) -> Dialect | None:
    """Return the protocol of an endpoint whose requests name earlier responses; None without such a protocol.

    Args:
        config: the configuration of the endpoint, which was checked.
        dialects: the dialects by name.
    """
    if not config.maps_requests:
        return None
    protocols = map(dialects.to_write, config.answers)
    return next((protocol for protocol in protocols if keeps_responses(protocol)), None)


def retention_of(config: EndpointConfig) -> Retention | None:
    """Return the limits with which an endpoint stores responses; None if it stores no responses."""
    turns = config.turns
    return None if turns is None else Retention(turns.keep, turns.max_bytes, config.limits.request_bytes)


class FrontDoor:
    """The front door of one endpoint.

    Args:
        store: stores the responses.
        endpoint: the template of the endpoint's path.
        mapping: the mapping of its requests.
        dialects: the dialects by name.
        retention: the limits with which responses are stored; None: they are not stored.
    """

    def __init__(
        self,
        store: RunStore,
        endpoint: str,
        mapping: RequestMapping,
        dialects: Dialects,
        retention: Retention | None,
    ) -> None:
        self._mapping: Final = mapping
        self._dialects: Final = dialects
        self._retention: Final = retention
        self.kept: Final = None if retention is None else KeptResponses(store, endpoint, retention.keep)

    def serves(self, incoming: Incoming) -> bool:
        """Return whether a request belongs to the Responses API."""
        return keeps_responses(self._dialects.to_write(incoming.answers))

    async def open(
        self, incoming: Incoming, data: bytes, upstreams: Sequence[_Upstream], opening: Opening
    ) -> OpenedResponse[_Upstream]:
        """Return a request in the form for its upstreams, and the keeper of its response.

        Args:
            incoming: the client's request.
            data: the body of the request.
            upstreams: the upstreams of the endpoint.
            opening: the facts about the answer.

        Raises:
            RequestError: the request cannot be understood, or no upstream can take it.
            Refusal: the request names an unknown response, or the store does not answer.
        """
        asked = AskedResponse.of(parse_body(data))
        left = await self._of_keeping_upstreams(incoming, data, upstreams)
        others = [upstream for upstream in upstreams if upstream not in left]
        if not others:
            return OpenedResponse(incoming, left, None)
        try:
            opened = await self._open(asked, incoming, data, others, opening)
        except (Refusal, RequestError):
            if not left:
                raise
            return OpenedResponse(incoming, left, None)
        offers = {**left, **opened.offers}
        in_order = {upstream: offers[upstream] for upstream in upstreams if upstream in offers}
        return replace(opened, offers=in_order)

    async def _of_keeping_upstreams(
        self, incoming: Incoming, data: bytes, upstreams: Sequence[_Upstream]
    ) -> dict[_Upstream, Offer]:
        """Return the offers to those upstreams that store the response themselves."""
        same = [upstream for upstream in upstreams if upstream.dialect.name == incoming.answers]
        if not same:
            return {}
        try:
            offers = await self._mapping.offers(incoming, data, same)
        except RequestError:
            if len(same) == len(upstreams):
                raise
            return {}
        return {upstream: offer for upstream, offer in offers.items() if not _refuses_store(offer)}

    async def _open(
        self,
        asked: AskedResponse,
        incoming: Incoming,
        data: bytes,
        upstreams: Sequence[_Upstream],
        opening: Opening,
    ) -> OpenedResponse[_Upstream]:
        asked.check_conversation()
        stores = asked.stores and self.kept is not None
        if asked.is_background and not (stores and opening.keeps_runs):
            raise unsupported_background()
        continued, known = None, None
        if asked.previous is not None:
            continued, history = await self._continued(asked.previous, incoming.key)
            known = continued.response.conversation
            data = asked.behind(history)
        elif asked.is_background or not asked.stores:
            data = asked.behind(())
        echo = {**(incoming.names.echo or {}), "store": stores}
        names = incoming.names._replace(echo=echo, answer_id=opening.answer_id)
        incoming = msgspec.structs.replace(incoming, names=names)
        offers = await self._mapping.offers(incoming, data, upstreams, known=known)
        if not stores:
            return OpenedResponse(incoming, offers, None)
        keeper = self._keeper(asked, incoming, offers, continued, opening)
        followed = {
            upstream: msgspec.structs.replace(offer, taps=(*offer.taps, keeper.tap))
            for upstream, offer in offers.items()
        }
        return OpenedResponse(incoming, followed, keeper)

    async def _continued(self, response_id: str, key: str | None) -> tuple[Continued, list[Any]]:
        if self.kept is None or self._retention is None:
            raise response_not_found()
        try:
            found = await self.kept.find(key, response_id)
            if found is None or found.response.is_running:
                raise response_not_found()
            return found, await self.kept.history(found, max_bytes=self._retention.max_history)
        except StoreUnavailable:
            raise store_unavailable() from None

    def _keeper(
        self,
        asked: AskedResponse,
        incoming: Incoming,
        offers: Mapping[_Upstream, Offer],
        continued: Continued | None,
        opening: Opening,
    ) -> ResponseKeeper:
        assert self.kept is not None, "responses are kept"
        assert self._retention is not None, "responses are kept"
        max_bytes = self._retention.max_bytes

        def encoder() -> Encoder:
            made = self._dialects.to_write(incoming.answers).make_encoder(opening.options)
            made.names, made.request_id = incoming.names, incoming.request_id
            return made

        def open_writer() -> FoldedWriter:
            return FoldedWriter(incoming.request_id, encoder(), limit=max_bytes)

        began = Stamp(incoming.request_id, 0, incoming.began)
        return ResponseKeeper(
            self.kept,
            incoming.key,
            ResponseTap(open_writer, max_bytes=max_bytes),
            pending=encoder().pending_answer("in_progress", began) or {},
            items=asked.items,
            continued=continued,
            threads={upstream: offer.tap for upstream, offer in offers.items()},
            is_whole=incoming.framing == "json",
            is_background=asked.is_background,
        )


def new_response_id() -> str:
    """Return an id that cannot be guessed: 128 random bits."""
    return f"{PREFIX}{secrets.token_hex(16)}"


def store_unavailable() -> Refusal:
    """Return the refusal of a request that names a response while the store does not answer."""
    return Refusal(
        "STORE_UNAVAILABLE",
        "Responses cannot be read at the moment. Please try again.",
        headers={"Retry-After": "1"},
    )


def _refuses_store(offer: Offer) -> bool:
    """Return whether an offer tells its upstream not to store the response."""
    body = offer.written[-1].body if offer.written else None
    return isinstance(body, Mapping) and body.get("store") is False
