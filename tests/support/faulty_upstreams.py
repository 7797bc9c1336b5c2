"""The fake backend behind the gateway, over real sockets: what comes of it, and whether anything leaked.

async with faulty_gateway("cut@20", dialect="ragflow") as relay:
    answer = await relay.ask("ndjson")
    other = await relay.ask("json", "stall@5:1s", "badjson@3")  # other faults in this request
    await relay.settled()

`replay=b"..."` plays any bytes as the upstream's body; `cut-byte@N` cuts any body behind its Nth byte.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from loopback import Answer, Gateway, ask, gateway, settled
from patience import PROMPTLY
from streamweir.errors import CODES
from streamweir_gateway.fake import FakeBackend, Settings, serve_fake
from streamweir_gateway.fake.secrets import CREDENTIALS, PRIVATE

ACCEPT = {"sse": "text/event-stream", "ndjson": "application/x-ndjson", "json": "application/json"}

PATIENT = {"connect": "5s", "first_event": "20s", "idle": "20s"}
"""For upstreams that end by themselves: on a busy machine, short timeouts would end them first."""

FIRST_EVENT_SOON = {**PATIENT, "connect": "600ms", "first_event": "600ms"}
"""For upstreams that begin no stream."""

IDLE_SOON = {**PATIENT, "idle": "400ms"}
"""For upstreams that stop within a stream."""

SILENT_SOON = {"connect": "1s", "first_event": "1s", "idle": "1s"}
"""For upstreams that do either."""


class Relay:
    """A fake backend with the gateway before it."""

    def __init__(self, backend: FakeBackend, running: Gateway) -> None:
        self.backend = backend
        self.gateway = running

    async def ask(self, framing: str = "sse", *faults: str) -> Answer:
        """What a client gets that asks for `framing`; it keeps the protocol and holds no secret.

        `faults` happen in this request in place of the backend's own.
        """
        wish = [("X-Fault", ", ".join(faults))] if faults else []
        got = await ask(self.gateway, headers=[("Accept", ACCEPT[framing]), *wish])
        got.assert_valid()
        assert not leaks_to_client(got)
        return got

    async def settled(self) -> None:
        """Nothing is left of what was asked, on either side."""
        async with asyncio.timeout(PROMPTLY):
            while self.backend.playing or len(self.gateway.streams):  # noqa: ASYNC110 - neither tells
                await asyncio.sleep(0.005)
        told = json.dumps(self.gateway.log.lines, default=str)
        assert not [secret for secret in CREDENTIALS if secret in told]


@asynccontextmanager
async def faulty_gateway(
    *faults: str,
    dialect: str = "legacy",
    framing: str = "sse",
    events: int | None = None,
    replay: bytes | None = None,
    debug: bool = False,
    **options: Any,
) -> AsyncIterator[Relay]:
    """A gateway with `/chat` before a backend with `faults`; `options` are the endpoint's.

    No breaker: it would open after a few failures, and nothing more would reach the backend.
    """
    wishes = {"dialect": [dialect], "framing": [framing], "pace": ["off"], "fault": faults}
    played = Settings(events=events, replay=replay).settled(wishes)
    async with serve_fake(played) as backend:
        own = {"upstream": "fake", "timeouts": PATIENT, "forward_headers": ["X-Fault"]}
        config = settled(
            upstreams={"fake": {"url": backend.url, "speaks": dialect, "breaker": "off"}},
            endpoints={"/chat": {**own, **options}},
            debug=debug,
        )
        async with gateway(config) as running:
            yield Relay(backend, running)


def leaks_to_client(got: Answer) -> list[str]:
    """The secrets of the fake backend that are in a response."""
    told = got.body.decode() + json.dumps(got.headers)
    return [secret for secret in (*CREDENTIALS, *PRIVATE) if secret in told]


def leaks_to_log(records: list[logging.LogRecord]) -> list[str]:
    """The credentials of the fake backend that are in log records, their exceptions included."""
    told = "\n".join(map(logging.Formatter().format, records))
    return [secret for secret in CREDENTIALS if secret in told]


def outcome(got: Answer) -> str:
    """In one word how a stream or a folded answer ended: `completed`, or its error's code and reason."""
    if got.framing == "json":
        status, reason, error = got.json["status"], got.json["reason"], got.json["error"]
    else:
        status, reason, error = got.end["status"], got.end["reason"], got.error
    return status if status != "error" else f"{error['code']} {reason}"


def warning_codes(got: Answer) -> set[str]:
    """The codes of the warnings in a stream or a folded answer."""
    if got.framing == "json":
        return {str(warning.get("message_code")) for warning in got.json["warnings"]}
    return {str(event["data"].get("message_code")) for event in got.events if event["type"] == "warning"}


def folded_status(got: Answer) -> int:
    """The HTTP status that a folded answer has to have by section 5 of the protocol."""
    result = got.json
    message = result["message"]
    came = any(message[name] for name in message)
    if result["error"] is None or came:
        return 200
    return CODES.get(result["error"]["code"], CODES["UPSTREAM_ERROR"]).status
