"""Serves a configuration: listens, and runs the configured number of processes."""

from __future__ import annotations

from contextlib import ExitStack

from streamweir_gateway.config import Address, GatewayConfig
from streamweir_gateway.console.entrance import ConsoleEntrance
from streamweir_gateway.importing import importing
from streamweir_gateway.processes.console_place import ConsolePlace
from streamweir_gateway.processes.reload import Load, OnReady
from streamweir_gateway.processes.sockets import listeners_of, raise_file_limit

__all__ = ["serve"]


def serve(
    config: GatewayConfig,
    *,
    on_ready: OnReady | None = None,
    load: Load | None = None,
    entrance: ConsoleEntrance | None = None,
) -> int:
    """Serve `config` until SIGINT or SIGTERM; return an exit code.

    The first signal ends readiness and lets streams run for `server.drain` seconds; then they end with
    `GATEWAY_DRAINING`. A second signal ends them at once. SIGHUP reloads the configuration.

    Args:
        config: the complete configuration.
        on_ready: called with the listening address when all workers accept requests.
        load: reads the configuration again; if None, SIGHUP changes nothing.
        entrance: the address and the token of the console; None: there is no console.

    Raises:
        OSError: an address cannot be listened on.
    """
    raise_file_limit()
    listeners = listeners_of(config)
    with ExitStack() as stack:
        for each in listeners:
            stack.enter_context(each)
        console = None
        if entrance is not None:
            address = Address(*listeners[0].clients.getsockname()[:2])
            console = stack.enter_context(ConsolePlace(config, entrance, address))
        if len(listeners) == 1:
            with importing():  # a parent of workers serves nothing
                from streamweir_gateway.processes.process import serve_alone  # noqa: PLC0415

            return serve_alone(config, listeners[0], on_ready=on_ready, load=load, console=console)
        from streamweir_gateway.processes.workers import serve_with_workers  # noqa: PLC0415 - few gateways have any

        return serve_with_workers(config, listeners, on_ready=on_ready, load=load, console=console)
