"""The canonical request: every reader returns one and every writer takes one.

Absent fields are left out: there are no nulls. Source: the request contract, section 2.
"""

from __future__ import annotations

from typing import Any, Final, Literal, Required, TypedDict

__all__ = [
    "FIELDS",
    "FILE_TYPES",
    "LOSSES",
    "MODEL_PARAMETERS",
    "PARAMETERS",
    "ROLES",
    "Answer",
    "Message",
    "Opaque",
    "Part",
    "Request",
    "Tool",
    "ToolCall",
]

Role = Literal["system", "user", "assistant", "tool"]
ROLES: Final = ("system", "user", "assistant", "tool")

FILE_TYPES: Final = ("image", "audio", "video", "file")
"""The types of parts that hold a file."""

Opaque = dict[str, dict[str, Any]]
"""Values that only the upstream that made them can read, by the name of its dialect.

A value that passed through a client of another protocol is a seal, which is opened when a request is written:
`{"streamweir": {"seal": text}}`. Source: the conversation contract, section 2.
"""

PARAMETERS: Final = (
    *("temperature", "top_p", "max_tokens", "stop"),
    *("seed", "presence_penalty", "frequency_penalty"),
)

MODEL_PARAMETERS: Final = (
    *("logprobs", "top_logprobs", "logit_bias", "n", "top_k", "functions", "function_call"),
    *("parallel_tool_calls", "reasoning", "reasoning_effort", "thinking", "verbosity", "prediction"),
    *("modalities", "audio", "web_search_options", "service_tier", "store", "include", "truncation"),
    *("background", "prompt", "prompt_cache_key", "prompt_cache_retention", "safety_identifier"),
    *("max_tool_calls", "cache_control", "container", "context_management", "mcp_servers", "output_config"),
)
"""Fields, in addition to the canonical ones, that clients of OpenAI and Anthropic may send to a model; no
agent reads them.

Source: OpenAI's chat completions and responses, Anthropic's messages (2026), their request bodies.
"""

LOSSES: Final = ("system", "history", "files", "tools", "inputs", "state", "context", "response_format")
"""The names of request parts that are reported as lost if an upstream cannot take them, in this order."""


class Part(TypedDict, total=False):
    """A piece of a message: text, or a file as `url`, `base64` or `file_id`.

    In a message of the assistant a part may also be reasoning, or the place of a call among the parts:
    `tool_call` with the `id` of the call. A call without such a part comes after all parts.
    """

    type: Required[Literal["text", "reasoning", "tool_call", "image", "audio", "video", "file"]]
    text: str
    opaque: Opaque
    id: str
    url: str
    base64: str
    file_id: str
    media_type: str
    name: str


class ToolCall(TypedDict, total=False):
    """A call that an assistant's message asks for.

    `arguments_text` is the JSON text of the arguments that the client sent; absent if writing `arguments`
    gives an equal text.
    """

    id: Required[str]
    name: Required[str]
    arguments: Required[dict[str, Any]]
    arguments_text: str
    opaque: Opaque


class Message(TypedDict, total=False):
    """One turn of a conversation, or the result of a call.

    `turn` is set by the gateway in a request for one upstream, and never read from a client: the JSON of the
    message that this upstream made (in Responses: of its items). It is written in place of the message.
    """

    role: Required[Role]
    content: str | list[Part]
    id: str
    name: str
    tool_calls: list[ToolCall]
    tool_call_id: str
    is_error: bool
    turn: bytes


class Tool(TypedDict, total=False):
    """A tool that the client runs; `parameters` is JSON Schema."""

    name: Required[str]
    description: str
    parameters: dict[str, Any]


class Answer(TypedDict, total=False):
    """The answer to an interaction; `resume` is the value `resume` of the interaction, sent back."""

    interaction_id: Required[str]
    action: Required[Literal["submit", "cancel", "approve", "reject"]]
    value: Any
    resume: Any


class Request(TypedDict, total=False):
    """One canonical request of a client."""

    messages: list[Message]
    message: str
    thread_id: str
    run_id: str
    user: str
    model: str
    inputs: dict[str, Any]
    tools: list[Tool]
    tool_choice: str | dict[str, str]
    resume: list[Answer]
    state: Any
    context: list[dict[str, str]]
    parameters: dict[str, Any]
    response_format: dict[str, Any]
    metadata: dict[str, Any]
    stream: bool
    extra: dict[str, Any]


FIELDS: Final = tuple(Request.__annotations__)
"""The names of the fields of a request, in the order in which they are written."""
