"""Serves `GET /v1/models` next to endpoints whose clients choose a model: the list of models.

Source: OpenAI's and Anthropic's APIs, `models`; the configuration contract (`models`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import unquote

from starlette.types import Receive, Scope, Send

from streamweir.codec.dialect import Dialect
from streamweir.codec.dialects import Dialects
from streamweir.http.headers import header_values
from streamweir.http.refusals import Refusal, send_refusal
from streamweir.http.response_headers import NO_SNIFFING
from streamweir.http.sending import send_whole
from streamweir.jsontext import write_json
from streamweir_gateway.config import REST, EndpointConfig

__all__ = ["ModelList", "model_lists"]

_ANTHROPIC: Final = b"anthropic-version"
"""The header by which clients of Anthropic are recognised."""

_LIST: Final = "/models"
_OWNER: Final = "streamweir"


def model_lists(endpoints: Sequence[EndpointConfig], dialects: Dialects) -> Mapping[str, ModelList]:
    """Return the lists of models by their path. Endpoints with the same base path share one list."""
    beside: dict[str, list[EndpointConfig]] = {}
    for endpoint in endpoints:
        if endpoint.models:
            beside.setdefault(_base(endpoint, dialects) + _LIST, []).append(endpoint)
    return {path: ModelList(found, dialects) for path, found in beside.items()}


class ModelList:
    """The ASGI endpoint of one list, and of each model in it.

    Attributes:
        endpoints: the endpoints that serve the models.
    """

    def __init__(self, endpoints: Sequence[EndpointConfig], dialects: Dialects) -> None:
        self.endpoints = tuple(endpoints)
        self._dialects = dialects
        self._since = int(time.time())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        del receive
        is_anthropic = any(header_values(scope["headers"], _ANTHROPIC))
        names = self._names(scope)
        wanted = _wanted(scope)
        if wanted is not None and wanted not in names:
            protocol = self._protocol(is_anthropic=is_anthropic)
            await send_refusal(
                send, Refusal("MODEL_NOT_FOUND"), request_id=scope["state"]["request_id"], protocol=protocol
            )
            return
        describe = self._anthropic if is_anthropic else self._openai
        body = describe(wanted) if wanted is not None else _listed([*map(describe, names)], is_anthropic)
        fields = {"Content-Type": "application/json", "Cache-Control": "no-store", **NO_SNIFFING}
        headers = [(name.lower().encode(), value.encode()) for name, value in fields.items()]
        await send_whole(send, 200, write_json(body), headers)

    def _names(self, scope: Scope) -> list[str]:
        """Return the models that the caller may ask, each once."""
        allowed = scope["state"].get("models")
        endpoints = scope["state"].get("endpoints", self.endpoints)
        names = dict.fromkeys(name for endpoint in endpoints for name in endpoint.models)
        return [name for name in names if not allowed or name in allowed]

    def _protocol(self, *, is_anthropic: bool) -> Dialect | None:
        return self._dialects.called_at("/messages" if is_anthropic else "/chat/completions")

    def _openai(self, name: str) -> dict[str, Any]:
        return {"id": name, "object": "model", "created": self._since, "owned_by": _OWNER}

    def _anthropic(self, name: str) -> dict[str, Any]:
        since = datetime.fromtimestamp(self._since, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"type": "model", "id": name, "display_name": name, "created_at": since}


def _wanted(scope: Scope) -> str | None:
    """Return the model that the path names; None for the list. A name may contain `/`, plain or encoded."""
    rest = scope["path_params"].get(REST)
    return None if rest is None else unquote(rest)


def _listed(models: list[dict[str, Any]], is_anthropic: bool) -> dict[str, Any]:
    if not is_anthropic:
        return {"object": "list", "data": models}
    ends = [model["id"] for model in (models[0], models[-1])] if models else [None, None]
    return {"data": models, "has_more": False, "first_id": ends[0], "last_id": ends[1]}


def _base(endpoint: EndpointConfig, dialects: Dialects) -> str:
    """Return the base path for the endpoint's clients, without the part that the clients append."""
    for name in endpoint.answers:
        for added in dialects[name].client_paths if name in dialects else ():
            if endpoint.template.endswith(added):
                return endpoint.template.removesuffix(added)
    return endpoint.template.rpartition("/")[0]
