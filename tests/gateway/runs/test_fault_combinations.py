"""Faults in any combination give a valid stream, and no internal error."""

import random
from typing import Any, Final

import pytest

from faulty_upstreams import ACCEPT, faulty_gateway, folded_status, outcome
from streamweir.codec.registry import process_dialects
from streamweir_gateway.fake import FAULTS, parse_faults
from streamweir_gateway.fake.fault_syntax import FaultError

pytestmark = pytest.mark.anyio

DIALECTS = sorted({*process_dialects().readable} & {*process_dialects().writable})
WHOLE_SERVER = ("refused", "accept-close")
ARGUMENTS: Final = {
    "duration": ("1ms", "20ms"),
    "size": ("10B", "3KiB", "300KiB", "2MiB"),
    "count": ("0", "1", "7", "200", "3000"),
    "status": ("200", "204", "301", "304", "404", "429", "503"),
}
SMALL: dict[str, Any] = {
    "timeouts": {"connect": "300ms", "first_event": "400ms", "idle": "400ms", "total": "1s"},
    "limits": {"event_bytes": "256KiB", "stream_bytes": "2MiB", "malformed_events": 20},
}


def any_fault(chance: random.Random) -> str:
    kind = FAULTS[chance.choice([name for name in FAULTS if name not in WHOLE_SERVER])]
    text = kind.name
    if kind.has_position:
        text += f"@{chance.choice((0, 1, 5, 12, 20, 30, 44, 1000))}"
    if kind.argument:
        text += f":{chance.choice(ARGUMENTS[kind.argument])}"
    return text


def faults_that_go_together(chance: random.Random) -> list[str]:
    chosen: list[str] = []
    while len(chosen) < chance.choice((1, 2, 3, 4)):
        try:
            fault = any_fault(chance)
            parse_faults([*chosen, fault])
            chosen.append(fault)
        except FaultError:
            continue
    return chosen


@pytest.mark.parametrize("seed", range(12))
async def test_any_combination_of_faults_gives_a_valid_stream(seed: int) -> None:
    chance = random.Random(seed)
    dialect, framing = chance.choice(DIALECTS), chance.choice(("sse", "ndjson"))
    flags: dict[str, Any] = {name: chance.random() < 0.3 for name in ("debug", "raw")}
    speaks = chance.choice((dialect, "auto"))
    async with faulty_gateway(dialect=dialect, framing=framing, speaks=speaks, **flags, **SMALL) as relay:
        for _ in range(10):
            faults = faults_that_go_together(chance)
            got = await relay.ask(chance.choice([*ACCEPT]), *faults)
            await relay.settled()
            assert not outcome(got).startswith("INTERNAL "), faults
            assert got.status == (folded_status(got) if got.framing == "json" else 200), faults
