"""The mapping of an endpoint's requests: a request is read once, then written for each upstream.

Source: the request contract, sections 1 and 3 to 6.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from streamweir.codec.answer_ids import new_answer_secret
from streamweir.codec.dialects import Dialects
from streamweir.http.client_body import client_body
from streamweir.request_id import session_id_of
from streamweir.requests.canonical import Request
from streamweir.requests.errors import RequestError
from streamweir.requests.reading import read_canonical
from streamweir.requests.sides import RequestWriter
from streamweir.requests.templates import Tree, compile_request, compile_tree, overlay_root
from streamweir.requests.unknown_answer import unknown_answer
from streamweir.requests.writing import Target, plan_request, upstream_thread
from streamweir.requests.written import NOTHING
from streamweir_gateway.config import EndpointConfig
from streamweir_gateway.incoming import Incoming
from streamweir_gateway.requests.asked_upstream import AskedUpstream
from streamweir_gateway.requests.body_type import check_body_type
from streamweir_gateway.requests.client_request import ClientRequest
from streamweir_gateway.requests.conversation import Conversation
from streamweir_gateway.requests.conversation_tap import ConversationTap
from streamweir_gateway.requests.conversations import Conversations
from streamweir_gateway.requests.dropped_parameters import DroppedParameters
from streamweir_gateway.requests.kept_answers import unasked_answers, with_kept_answers
from streamweir_gateway.requests.kept_history import KeptHistory
from streamweir_gateway.requests.loaded_conversation import load_conversation
from streamweir_gateway.requests.offers import Offer
from streamweir_gateway.requests.template_names import TemplateNames, found_sound
from streamweir_gateway.requests.threads_of_request import with_history
from streamweir_gateway.turns.kept_turns import KeptTurns
from streamweir_gateway.turns.turn_names import TurnOwner
from streamweir_gateway.turns.turns_of_request import TurnsOfRequest

__all__ = ["RequestMapping", "request_mapping"]

_Upstream = TypeVar("_Upstream", bound=AskedUpstream)


class RequestMapping:
    """The mapping of an endpoint's requests: a client's body to the requests of each upstream."""

    def __init__(self, config: EndpointConfig, dialects: Dialects) -> None:
        self._dialects = dialects
        configured = {name.lower() for upstream in config.upstreams for name, _ in upstream.headers}
        self._names = TemplateNames(config.forward_headers, configured, dialects)

    def check(self, incoming: Incoming) -> None:
        """Check the headers of a request.

        Raises:
            RequestError: the body has a media type that cannot be read.
        """
        check_body_type(incoming.headers)

    async def offers(
        self,
        incoming: Incoming,
        data: bytes,
        destinations: Sequence[_Upstream],
        *,
        known: Conversation | None = None,
    ) -> dict[_Upstream, Offer]:
        """Return the offer for each upstream, in the order in which the upstreams are asked.

        A mapping may have to wait for the store of earlier turns.

        Args:
            incoming: the client's request.
            data: the body of the request.
            destinations: the upstreams of the endpoint.
            known: the conversation that the request continues; None: the one that the request names, if any.

        Raises:
            RequestError: the request cannot be understood, or no upstream can take it.
        """
        raise NotImplementedError

    def may_have_secret(self, protocol: str) -> bool:
        """Return whether `answer_secret` may return a secret for clients of a protocol."""
        del protocol
        return False

    def answer_secret(self, incoming: Incoming, destinations: Sequence[AskedUpstream]) -> str | None:
        """Return the secret for making the ids under which the client answers questions (`answer_ids`).

        Returns:
            None if the client uses the upstream's ids, or gets no questions.
        """
        del incoming, destinations
        return None


def request_mapping(
    config: EndpointConfig,
    dialects: Dialects,
    conversations: Conversations | None,
    *,
    new_id: Callable[[], Callable[[], str]] = lambda: lambda: str(uuid.uuid4()),
    dropped: DroppedParameters | None = None,
    turns: KeptTurns | None = None,
    history: KeptHistory | None = None,
) -> RequestMapping | None:
    """Return the mapping of an endpoint's requests; None if bodies are sent byte for byte.

    Args:
        config: the configuration of the endpoint, which was checked.
        dialects: the dialects by name.
        conversations: the conversations of the endpoint; None: conversations are not kept.
        new_id: makes, for each request, the function that makes its ids.
        dropped: logs parameters that the upstream cannot take; None: they are not logged.
        turns: the turns of the endpoint; None: turns are not kept.
        history: the threads of the endpoint as messages; None: threads are not kept.
    """
    match config.request.kind:
        case "mapped":
            return _Mapped(config, dialects, conversations, new_id, dropped, turns, history)
        case "template":
            return _Templated(config, dialects)
    return None


class _Mapped(RequestMapping):
    """Reads by the rules of the client's protocol, and writes by those of the upstream's dialect."""

    def __init__(
        self,
        config: EndpointConfig,
        dialects: Dialects,
        conversations: Conversations | None,
        new_id: Callable[[], Callable[[], str]],
        dropped: DroppedParameters | None,
        turns: KeptTurns | None,
        history: KeptHistory | None,
    ) -> None:
        super().__init__(config, dialects)
        self._template = config.template
        self._turns = turns
        self._new_id = new_id
        self._dropped = dropped
        self._history = history
        self._keeps_history = config.history != "last"
        tree = config.request.tree
        self._overlay: Tree | None = None if tree is None else compile_tree(tree, found_sound)
        self._conversations = conversations
        self._targets: dict[str, Target] = {}
        """For the identity of each upstream the target of its last request, without an overlay."""

    async def offers(
        self,
        incoming: Incoming,
        data: bytes,
        destinations: Sequence[_Upstream],
        *,
        known: Conversation | None = None,
    ) -> dict[_Upstream, Offer]:
        protocol = self._dialects.find(incoming.answers)
        reader = protocol.request_reader
        assert reader is not None, "an endpoint whose clients cannot be read is refused"
        body = client_body(incoming.method, data, incoming.query, may_be_absent=False) or {}
        request, conversation = read_canonical(reader, body), known
        unknown: tuple[str, ...] = ()
        if self._conversations is not None:
            if (sync := self._conversations.sync) is not None:
                await load_conversation(sync, request, incoming.key)
            kept = with_kept_answers(request, reader, incoming.key, self._conversations.questions)
            if kept is not None:
                request, unknown = kept.request, kept.unknown
            if kept is not None and kept.question is not None:
                conversation = Conversation(kept.question.upstream, kept.question.thread_id)
            elif known is None and (thread := request.get("thread_id")):
                conversation = self._conversations.find(incoming.key, thread)
        stores = body.get("store") is not False
        tap = None
        if self._history is not None and stores:
            request, tap = await with_history(request, reader, self._history, incoming.key, destinations)
        owner = TurnOwner(self._template, incoming.key)
        turns = TurnsOfRequest(owner, request["messages"], self._turns if stores else None)
        if turns.may_be_kept:
            await turns.find(self._turns)
        around = NOTHING if self._overlay is None else self._names.around(body, incoming)
        writing = ClientRequest(
            request, protocol, reader, conversation, incoming, around, self._new_id(), turns
        )
        if len(destinations) > 1:
            writing.has_several_upstreams = True
            writing.has_several_dialects = len({target.dialect.name for target in destinations}) > 1
            destinations = _in_order(destinations, conversation, turns)
        if unknown and (unasked := unasked_answers(unknown, request)):
            writing.unknown_answer = unknown_answer(body, unasked[0])
        offers = self._written(writing, destinations)
        if tap is None:
            return offers
        return {target: replace(offer, taps=(*offer.taps, tap)) for target, offer in offers.items()}

    def may_have_secret(self, protocol: str) -> bool:
        reader = self._dialects[protocol].request_reader
        return self._conversations is not None and reader is not None and reader.answers_by_message

    def answer_secret(self, incoming: Incoming, destinations: Sequence[AskedUpstream]) -> str | None:
        if not self.may_have_secret(incoming.answers):
            return None
        writers = [destination.dialect.request_writer for destination in destinations]
        return new_answer_secret() if all(writer and writer.answers for writer in writers) else None

    def _written(self, writing: ClientRequest, destinations: Iterable[_Upstream]) -> dict[_Upstream, Offer]:
        """Return the offer for each upstream that can take the client's request.

        Raises:
            RequestError: no upstream can take it. The error is that of the first upstream.
        """
        found: dict[_Upstream, Offer] = {}
        problem: RequestError | None = None
        for destination in destinations:
            try:
                found[destination] = self._offer(writing, destination)
            except RequestError as error:
                problem = problem or error
        if not found and problem is not None:
            raise problem.for_client(writing.reader.field_names)
        return found

    def _offer(self, writing: ClientRequest, destination: AskedUpstream) -> Offer:
        dialect, path = destination.dialect, destination.path(writing.incoming)
        writer = dialect.request_writer
        assert writer is not None, "an upstream that cannot be written to is refused"
        same = dialect.name == writing.incoming.answers
        if writing.unknown_answer is not None and not (same or (writer.continues and writing.ends_with_turn)):
            raise writing.unknown_answer
        restored = writing.for_upstream(destination, writer)
        request = restored.request
        target = self._targets.get(destination.identity)
        if target is None or target.path != path:
            options, identity = destination.dialect_options(path), destination.identity
            target = Target(writer, path, options, self._keeps_history, None, dialect.name, identity)
            self._targets[identity] = target
        if self._overlay is not None:
            target = replace(target, overlay=self._overlay_of(self._overlay, writing.around))
        extra = request.get("extra", NOTHING) if same else NOTHING
        new_id = writing.ids().__next__ if writing.has_several_upstreams else writing.new_id
        plan = plan_request(request, target, extra=extra, new_id=new_id)
        if plan.unused and self._dropped is not None:
            self._dropped.report(writing.incoming.answers, dialect.name, plan.unused)
        tap = self._tap(writing, request, destination, writer)
        return Offer(
            plan.requests,
            plan.lost,
            tap,
            answers=bool(request.get("resume")),
            new_recorder=None if dialect.turn_collector is None else writing.recorders(destination),
            turns=restored.counts,
            mend=writer.mend,
            is_lasting=writer.is_lasting,
        )

    def _overlay_of(self, tree: Tree, around: Mapping[str, Any]) -> Callable[[Request], Mapping[str, Any]]:
        return lambda request: tree.overlay(overlay_root(request, around))

    def _tap(
        self, writing: ClientRequest, request: Request, destination: AskedUpstream, writer: RequestWriter
    ) -> ConversationTap | None:
        if self._conversations is None:
            return None
        thread_id = request.get("thread_id")
        tap = ConversationTap(
            self._conversations,
            writing.asking(keeps_questions=writer.answers),
            destination.identity,
            upstream_thread(thread_id, writer.threads) if thread_id else None,
            session_id_of(writing.incoming.request_id),
            writer.answers,
        )
        if tap.thread is not None and tap.asking.thread is not None:
            tap.keep()
        return tap


def _in_order(
    destinations: Sequence[_Upstream], conversation: Conversation | None, turns: TurnsOfRequest
) -> Sequence[_Upstream]:
    """Return the upstreams to ask: that of the conversation, else all, that of the latest turn first."""
    begun_by = conversation.upstream if conversation else None
    if begun := [target for target in destinations if target.identity == begun_by]:
        return begun
    return sorted(destinations, key=lambda target: not turns.is_of_latest(target.identity, target.dialect))


class _Templated(RequestMapping):
    """Builds the upstream's request by the tree in the configuration."""

    def __init__(self, config: EndpointConfig, dialects: Dialects) -> None:
        super().__init__(config, dialects)
        self._template = compile_request(config.request.tree, found_sound)

    async def offers(
        self,
        incoming: Incoming,
        data: bytes,
        destinations: Sequence[_Upstream],
        *,
        known: Conversation | None = None,
    ) -> dict[_Upstream, Offer]:
        del known
        body = client_body(incoming.method, data, incoming.query, may_be_absent=True)
        root = self._names.root(body, incoming, self._names.canonical(body, incoming))
        method = "POST" if incoming.method in ("GET", "HEAD") else incoming.method
        offer = Offer([replace(self._template.written(root), method=method)])
        return dict.fromkeys(destinations, offer)
