"""The mock backend, the load client and the proxies that are measured: how each is built and started."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from gateway_targets import GATEWAYS, Setting

__all__ = [
    "BACKEND",
    "BACKEND_PORT",
    "LOAD_CPU",
    "PORT",
    "Target",
    "backend",
    "build_tools",
    "filled",
    "running",
    "targets",
]

HERE: Final = Path(__file__).resolve().parent
BACKEND_PORT: Final = 9100
PORT: Final = 9101

BACKEND: Final = f"http://127.0.0.1:{BACKEND_PORT}/chat"
PROXY: Final = f"http://127.0.0.1:{PORT}/chat"

PROXY_CPU: Final = "1"
LOAD_CPU: Final = "0"


class Target(NamedTuple):
    """What stands between load client and backend; no command means nothing."""

    name: str
    command: list[str] | None
    url: str = PROXY
    environment: Mapping[str, str] = MappingProxyType({})
    headers: tuple[str, ...] = ()
    """Headers of the load client's requests."""
    port: int = PORT


def build_tools(folder: Path) -> None:
    """Compile backend and load client into `folder` unless they are there already."""
    for name in ("upstream", "load"):
        source, program = HERE / "gen" / f"{name}.c", folder / name
        if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
            subprocess.run(["cc", "-O2", "-o", str(program), str(source)], check=True)


def targets(folder: Path) -> dict[str, Target]:
    """Return what can be measured here, by name; nginx and Go only where they are installed."""
    from streamweir.codec.dialects import Dialects  # noqa: PLC0415 (another checkout may not have it)

    python = sys.executable
    server = [python, "-m", "uvicorn", "--app-dir", str(HERE), "copying:app", "--port", str(PORT)]
    server += ["--log-level", "warning", "--no-access-log", "--backlog", "4096"]
    server += ["--http", "httptools", "--loop", "uvloop", "--ws", "none"]
    found = [Target("direct", None, BACKEND)]
    if shutil.which("nginx"):
        found.append(Target("nginx", ["nginx", "-c", str(filled("nginx.conf.in", folder))]))
    found += [
        Target(f"starlette+{client}", server, environment={"CLIENT": client, "UPSTREAM": BACKEND})
        for client in ("httpx", "aiohttp")
    ]
    if go := shutil.which("go"):
        found.append(Target("go", [str(_built_by_go(go, folder)), str(PORT), BACKEND]))
    found += [_gateway(name, setting, folder) for name, setting in GATEWAYS.items()]
    known = {target.name: target for target in found}
    for answers in Dialects.built_in().writable:
        name = f"streamweir-{answers}"
        if answers != "standard" and name not in known:
            known[name] = _gateway(name, Setting(answers), folder)
    return known


def _gateway(name: str, setting: Setting, folder: Path) -> Target:
    file = filled(
        "gateway.yaml.in", folder, setting.answers, name=name, top=setting.top, endpoint=setting.endpoint
    )
    headers = (f"authorization: Bearer {setting.key}",) if setting.key else ()
    return Target(name, [sys.executable, "-m", "streamweir_gateway", "serve", str(file)], headers=headers)


def _built_by_go(go: str, folder: Path) -> Path:
    source, program = HERE / "gen" / "translating.go", folder / "translating"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        subprocess.run([go, "build", "-o", str(program), str(source)], check=True)
    return program


def filled(
    template: str,
    folder: Path,
    kind: str = "",
    *,
    name: str = "",
    store: str = "",
    top: str = "",
    endpoint: str = "",
) -> Path:
    """Write a configuration from its template, and return where it is.

    Args:
        template: its file name.
        folder: for the file.
        kind: the protocol of the answers, or another word for the configuration.
        name: of the configuration, by which its file is told from others; empty: `kind`.
        store: of runs.
        top: lines above the upstreams.
        endpoint: lines of the endpoint.
    """
    text = (HERE / template).read_text()
    values = {"TMP": str(folder), "PORT": str(PORT), "BACKEND": str(BACKEND_PORT), "STORE": store}
    for key, value in {**values, "ANSWERS": kind, "TOP": top, "ENDPOINT": endpoint}.items():
        text = text.replace(f"@{key}@", value)
    file = folder / f"{name or kind}{template.removesuffix('.in')}"
    file.write_text(text)
    return file


_SETTLING_SECONDS: Final = 2
"""The seconds that a target gets after its port has opened, so that its other processes start too."""


@contextmanager
def running(target: Target, folder: Path) -> Iterator[int | None]:
    """Run a target, pinned to its processor; gives its process id."""
    if target.command is None:
        yield None
        return
    with (
        (folder / f"{target.name}.log").open("ab") as log,
        _pinned(PROXY_CPU, target.command, log.fileno(), target.environment) as process,
    ):
        _wait_until_open(target.port, process)
        time.sleep(_SETTLING_SECONDS)
        yield process.pid


@contextmanager
def backend(folder: Path) -> Iterator[None]:
    """Run the mock backend."""
    command = [str(folder / "upstream"), str(BACKEND_PORT)]
    with _pinned(LOAD_CPU, command, subprocess.DEVNULL, {}) as process:
        _wait_until_open(BACKEND_PORT, process)
        yield


@contextmanager
def _pinned(
    cpu: str, command: list[str], output: int, environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        ["taskset", "-c", cpu, *command],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        stdout=output,
        stderr=output,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    for sig in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sig)
            process.wait(10)
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            process.wait()
        return


def _wait_until_open(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} did not start")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError(f"nothing listens on port {port}")
