"""`--listen` follows the rules of the file, and what is printed holds no key."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamweir_gateway.cli.banner import banner
from streamweir_gateway.cli.command import UsageError
from streamweir_gateway.cli.configuration import listening_on, load
from streamweir_gateway.config import GatewayConfig

ENDPOINT = "endpoints: {/a: {upstream: ['http://127.0.0.1:9', 'demo:legacy']}}\n"


def configured(folder: Path, text: str) -> GatewayConfig:
    file = folder / "config.yaml"
    file.write_text(text + ENDPOINT)
    return load(str(file))


@pytest.mark.parametrize("address", ["0.0.0.0:80", "[::]:80", "10.0.0.1:80", "gateway.example:80"])
def test_serve_on_all_addresses_needs_keys_or_an_option(address: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--listen \S+: anybody could call: name `auth.keys`"):
        listening_on(address, configured(tmp_path, ""))
    for auth in ("auth: open\n", "auth: {keys: {web: s3cret-of-the-web}}\n"):
        listen = listening_on(address, configured(tmp_path, auth)).listen
        assert listen.port == 80


@pytest.mark.parametrize("address", ["127.0.0.1:80", "127.9.9.9:80", "[::1]:80", "LocalHost:80"])
def test_serve_on_this_machine_needs_no_keys(address: str, tmp_path: Path) -> None:
    assert listening_on(address, configured(tmp_path, "")).listen.port == 80


def test_welcome_names_keys_and_upstreams_without_values(tmp_path: Path) -> None:
    config = configured(tmp_path, "auth: {keys: {web: s3cret-of-the-web, batch: s3cret-of-batch}}\n")
    lines = list(banner(config, ("127.0.0.1", 8080)))
    assert "/a: http://127.0.0.1:9, then demo:legacy -> standard (any key)" in lines
    assert any(line.startswith("  curl -N http://127.0.0.1:8080/a -H 'X-Api-Key: KEY' ") for line in lines)
    assert "In place of KEY: one of web, batch from `auth.keys`." in lines
    assert "s3cret" not in "".join(lines)


def test_welcome_has_the_address_of_health_and_metrics(tmp_path: Path) -> None:
    config = configured(tmp_path, 'server: {admin: "127.0.0.1:9090"}\n')
    assert "Health, readiness and metrics: http://127.0.0.1:9090" in banner(config, ("127.0.0.1", 8080))
