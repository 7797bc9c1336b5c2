"""Builds the message of one answer of the Messages API, block by block.

Source: the Messages API (2023-06-01; thinking, tool use, citations); the conversation contract, section 4.
"""

from __future__ import annotations

from typing import Any, Final

from streamweir.codec.text_pieces import TextPieces
from streamweir.codec.turn_collector import CollectedTurn, TurnCollector
from streamweir.jsontext import write_json
from streamweir.raw_json import raw_array, raw_object, raw_text, raw_value, write_array, write_object

__all__ = ["AnthropicTurn"]

_CALLS: Final = ("tool_use", "server_tool_use", "mcp_tool_use")
_OPAQUE: Final = ("redacted_thinking", "compaction")
_TEXTS: Final = {"text": "text", "thinking": "thinking", "compaction": "content"}
"""For each type of block: the field whose text arrives in pieces."""

_PIECES: Final = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "input_json_delta": ("partial_json", "input"),
    "compaction_delta": ("content", "content"),
}
"""For each type of delta: the field with the piece, and the field of the block that it extends."""


class _Block:
    """One block: the fields of its start, and the pieces of its other fields.

    state     entered by                              what it holds
    ───────   ─────────────────────────────────────   ──────────────────────────────────────────────────
    open      construction                            fields and pieces
    closed    `close`, for thinking and calls, which  only its JSON, written while the answer continues:
              makes it take no more pieces            the client waits for the turn at the end
    """

    def __init__(self, data: bytes) -> None:
        self.is_signed = False
        self._closed: bytes | None = None
        self.fields = raw_object(data)
        self.kind = raw_text(self.fields["type"])
        self.call_id = raw_text(self.fields["id"]) if self.kind in _CALLS else ""
        self.pieces: dict[str, TextPieces] = {}
        self.citations: list[bytes] = []
        for name in (_TEXTS.get(self.kind), "signature" if self.kind == "thinking" else None):
            if name is not None and self.fields.get(name, b"").startswith(b'"'):
                self.pieces_of(name).append(raw_text(self.fields.pop(name)))

    def pieces_of(self, name: str) -> TextPieces:
        """Return the pieces of a field."""
        return self.pieces.setdefault(name, TextPieces())

    def text_of(self, name: str) -> str:
        """Return the text of a field that arrived in pieces."""
        return self.pieces[name].text if name in self.pieces else ""

    @property
    def has_opaque(self) -> bool:
        """Whether the block holds a value that only the API can read."""
        return self.kind in _OPAQUE or self.is_signed or bool(self.text_of("signature"))

    def close(self) -> None:
        """Close a block of thinking or a call, as all pieces have arrived. Raises the errors of `written`."""
        if self.kind == "thinking" or self.kind in _CALLS:
            self.is_signed = self.has_opaque
            self._closed = self.written()
            self.pieces.clear()

    def check_open(self) -> None:
        """Raise `ValueError` if the block is closed, so that it takes no more pieces."""
        if self._closed is not None:
            raise ValueError("a piece of a block that has ended")

    def written(self) -> bytes:
        """Return the block as JSON.

        Raises:
            msgspec.DecodeError: the input of a call is no JSON.
        """
        if self._closed is not None:
            return self._closed
        fields = dict(self.fields)
        for name, pieces in self.pieces.items():
            if name != "input":
                fields[name] = write_json(pieces.text)
            elif text := pieces.text:
                fields[name] = raw_value(text)
        if self.citations:
            fields["citations"] = write_array([*raw_array(fields, "citations"), *self.citations])
        return write_object(fields)


class AnthropicTurn(TurnCollector):
    """Collects the blocks of one message, in the order in which they begin."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(max_bytes)
        self._blocks: dict[int, _Block] = {}

    def _take(self, message: Any, data: bytes) -> None:
        if message.get("type") == "content_block_delta":  # most messages
            self._delta(self._blocks[message["index"]], message["delta"], data)
            return
        match message:
            case {"type": "content_block_start", "index": int(index), "content_block": dict()}:
                self._add(index, raw_object(data)["content_block"])
            case {"type": "content_block_stop", "index": int(index)}:
                self._blocks[index].close()
                self._thinking = None if self._blocks[index].kind == "thinking" else self._thinking
            case {"type": "message_delta", "delta": {"stop_reason": str()}}:
                self.is_complete = True
            case {"type": "message", "content": list()}:
                for index, block in enumerate(raw_array(raw_object(data), "content")):
                    self._add(index, block)
                self.is_complete = True

    def _add(self, index: int, data: bytes) -> None:
        self._blocks[index] = block = _Block(data)
        self._content, self._thinking = block.pieces.get("text"), block.pieces.get("thinking")
        self._count(len(data))

    def _delta(self, block: _Block, delta: dict[str, Any], data: bytes) -> None:
        block.check_open()
        kind: str = delta["type"]
        if kind not in _PIECES:
            self._add_citation(block, kind, data)
            return
        field, name = _PIECES[kind]
        if kind == "compaction_delta":
            self._keep_opaque(block, data)
        pieces = block.pieces.get(name) or block.pieces_of(name)
        self._count(pieces.append(delta[field]))
        if kind == "text_delta":
            self._content = pieces
        elif kind == "thinking_delta":
            self._thinking = pieces

    def _add_citation(self, block: _Block, kind: str, data: bytes) -> None:
        """Add a citation. Give the turn up if the delta has another type, which cannot be kept."""
        if kind != "citations_delta":
            self._give_up()
            return
        citation = write_object(raw_object(raw_object(raw_object(data)["delta"])["citation"]))
        block.citations.append(citation)
        self._count(len(citation))

    def _keep_opaque(self, block: _Block, data: bytes) -> None:
        """Keep the fields of a compaction that arrive whole, in addition to its content."""
        delta = raw_object(raw_object(data)["delta"])
        for name in delta.keys() - {"type", "content"}:
            block.fields[name] = delta[name]
            self._count(len(delta[name]))

    def _turn(self) -> CollectedTurn | None:
        content: list[bytes] = []
        texts: list[str] = []
        call_ids: list[str] = []
        has_opaque = False
        for index in sorted(self._blocks):
            block = self._blocks[index]
            if block.kind == "text":
                text = block.text_of("text")
                if not text.strip():  # the API refuses such a block
                    continue
                texts.append(text)
            elif block.kind in _CALLS:
                call_ids.append(block.call_id)
            has_opaque = has_opaque or block.has_opaque
            content.append(block.written())
        if not content:
            return None
        message = b'{"role":"assistant","content":' + write_array(content) + b"}"
        return CollectedTurn(message, tuple(texts), tuple(call_ids), bool(call_ids), has_opaque)

    def _drop(self) -> None:
        self._blocks.clear()
