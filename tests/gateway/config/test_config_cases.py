"""Every `cases/*.yaml` gives what stands in the `.expected` beside it: problems, or the configuration.

Of a configuration it holds what differs from that of `good-smallest`, so that one sees what a case is about.
A case called `check-...` is read in check mode. `STREAMWEIR_UPDATE_CASES=1 pytest` writes the expected files
anew; read the diff.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from streamweir import Decoder, Encoder
from streamweir.codec.dialect import Dialect
from streamweir.codec.dialects import Dialects
from streamweir.dialects.standard import request
from streamweir_gateway.config import (
    ConfigErrors,
    EndpointConfig,
    GatewayConfig,
    load_config,
)
from streamweir_gateway.config.models.upstream import UpstreamOptions

CASES = Path(__file__).with_name("cases")
SMALLEST = "good-smallest"
NAMES = sorted((path.stem for path in CASES.glob("*.yaml")), key=lambda name: (name != SMALLEST, name))


def dialect(name: str, *, reads: bool = True, **options: tuple[str, ...]) -> Dialect:
    """A dialect with these options, which is read, or else written."""
    if reads:
        decoder = type("Reader", (Decoder,), {"option_values": options})
        return Dialect(name, decoder, request_writer=request.WRITER)
    return Dialect(name, None, type("Writer", (Encoder,), {"option_values": options}))


STANDARD = type("Writer", (Encoder,), {"option_values": {"version": ("1.0", "1.1")}})
DIALECTS = Dialects(
    (
        dialect("legacy"),
        dialect("ragflow", form=("agent", "chat")),
        dialect("ag-ui", reads=False, reasoning=("reasoning", "thinking")),
        dialect("openai-chat", reads=False),
        Dialect("standard", Decoder, STANDARD, request_reader=request.READER),
    )
)
ENVIRON = {
    "BATCH_KEY": "s3cret-batch-0815",
    "BRACED_SECRET": "/{s3cret}",
    "DIALECT": "legacy",
    "EMPTY": "",
    "LETTER_A": "a",
    "SECRET": "s3cret",
    "SEVENTY": "70s",
    "TOKEN": "s3cret",
    "TWO_LINES": "s3cret\ns3cret",
    "WEB_KEY": "s3cret-web-4711",
}
MERGED = {
    GatewayConfig: {"defaults", "upstreams", "dialects", "fingerprint", "known_dialects"},
    EndpointConfig: {"upstream", *UpstreamOptions.model_fields},
}
"""What stands in the file and is seen in what it is merged into, or does not stand there."""


def plain(value: Any) -> Any:
    """Return what JSON can say of a configuration."""
    if isinstance(value, BaseModel):
        names = [name for name in type(value).model_fields if name not in MERGED.get(type(value), ())]
        return {name: plain(getattr(value, name)) for name in names}
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, IPv4Network | IPv6Network):
        return str(value)
    return "unknown" if value != value else value  # noqa: PLR0124 - not a number


def without_defaults(settled: dict[str, Any]) -> dict[str, Any]:
    """Return a settled configuration without what is as in the smallest."""
    smallest = json.loads((CASES / f"{SMALLEST}.expected").read_text(encoding="utf-8"))
    short = {key: value for key, value in settled.items() if value != smallest[key]}
    short["endpoints"] = [differing(endpoint, smallest["endpoints"][0]) for endpoint in settled["endpoints"]]
    return short


def differing(endpoint: dict[str, Any], smallest: dict[str, Any]) -> dict[str, Any]:
    """Return what an endpoint, and each of its upstreams, has in its own way."""
    short = {key: value for key, value in endpoint.items() if value != smallest[key]}
    if "upstreams" in short:
        (usual,) = smallest["upstreams"]
        short["upstreams"] = [
            {key: value for key, value in upstream.items() if value != usual[key]}
            for upstream in endpoint["upstreams"]
        ]
    return short


def outcome(name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return what loading a case gives, as its expected file holds it."""
    monkeypatch.chdir(CASES)
    try:
        config = load_config(
            f"{name}.yaml", dialects=DIALECTS, environ=ENVIRON, check=name.startswith("check-")
        )
    except ConfigErrors as errors:
        return f"{errors}\n"
    settled = plain(config)
    if name != SMALLEST:
        settled = without_defaults(settled)
    return json.dumps(settled, indent=2, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("name", NAMES)
def test_case_of_a_configuration_gives_its_expectation(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = CASES / f"{name}.expected"
    found = outcome(name, monkeypatch)
    if os.environ.get("STREAMWEIR_UPDATE_CASES"):
        expected.write_text(found, encoding="utf-8")
    assert found == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in NAMES if "bad-" in name])
def test_bad_case_is_refused_without_a_secret_in_the_message(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = outcome(name, monkeypatch)
    assert all(line.startswith(f"{name}.yaml:") for line in found.splitlines())
    assert "s3cret" not in found


def test_expectations_without_a_case_do_not_exist() -> None:
    assert sorted(path.stem for path in CASES.glob("*.expected")) == sorted(NAMES)
