"""Loads the configuration files of commands, with the installed dialects."""

from __future__ import annotations

import os
from typing import cast

from streamweir.codec.registry import process_dialects
from streamweir_gateway.cli.command import UsageError
from streamweir_gateway.config import Address, GatewayConfig, load_config
from streamweir_gateway.config.diagnostics import InvalidValue
from streamweir_gateway.config.values.addresses import LISTEN, NEEDS_AUTH, is_loopback

__all__ = ["listening_on", "load"]


def load(path: str, *, demand_secrets: bool = True) -> GatewayConfig:
    """Return the configuration in the file at `path`.

    Raises:
        ConfigErrors: the file cannot be used. The exception lists every problem.
    """
    return load_config(path, dialects=process_dialects(), environ=os.environ, check=not demand_secrets)


def listening_on(text: str, config: GatewayConfig) -> GatewayConfig:
    """Return `config` with another address, checked by the same rules as the one in the file.

    Raises:
        UsageError: `text` is not an address to listen on.
    """
    try:
        address = cast("Address", LISTEN.parse(text))
    except InvalidValue as refusal:
        raise UsageError(f"--listen {text}: {refusal.message}{refusal.detail}") from refusal
    if config.auth is None and not is_loopback(address):
        raise UsageError(f"--listen {text}: {NEEDS_AUTH}")
    return config.model_copy(update={"listen": address})
