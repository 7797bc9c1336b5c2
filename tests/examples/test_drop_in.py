"""An old service behind the gateway of the example: its clients notice nothing, and new ones choose."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from typing import NamedTuple

import pytest

from command_line import COMMAND
from one_request import asked, wait_for
from places import ROOT
from ports import free_port
from streamweir.testing import check_stream

FOLDER = ROOT / "examples" / "drop-in"
QUESTION = b'{"message": "How many rows?"}'


class Ports(NamedTuple):
    """Where both listen."""

    service: int
    gateway: int


@pytest.fixture(scope="module")
def ports() -> Iterator[Ports]:
    service, gateway = free_port(), free_port()
    uvicorn = [sys.executable, "-m", "uvicorn", "--app-dir", str(FOLDER), "old_service:app"]
    commands = {
        service: [*uvicorn, "--port", str(service)],
        gateway: [*COMMAND, "serve", str(FOLDER / "gateway.yaml")],
    }
    environment = {**os.environ, "PORT": str(gateway), "SERVICE": f"http://127.0.0.1:{service}"}
    with ExitStack() as stack:
        for port, command in commands.items():
            server = subprocess.Popen(
                command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            stack.callback(server.wait)
            stack.callback(server.kill)
            wait_for(port)
        yield Ports(service, gateway)


def test_old_client_gets_its_old_events(ports: Ports) -> None:
    answers = [asked(port, "POST", "/api/chat", QUESTION, Content_Type="application/json") for port in ports]
    (direct, frames, _), (through, same_frames, status) = answers
    assert status == 200
    assert same_frames == frames
    assert frames.count(b"data: ") == 5
    assert through["content-type"] == direct["content-type"]


def test_new_client_gets_the_standard(ports: Ports) -> None:
    headers = {"Content_Type": "application/json", "X_Streamweir_Protocol": "standard"}
    _, body, _ = asked(ports.gateway, "POST", "/api/chat", QUESTION, **headers)
    assert check_stream(body) == []
    assert b'"status":"completed","reason":"done"' in body


def test_relayed_paths_of_the_service_are_served(ports: Ports) -> None:
    headers, _, status = asked(ports.gateway, "POST", "/login")
    assert (status, headers["location"]) == (303, "/history")
    cookie = headers["set-cookie"].partition(";")[0]
    assert asked(ports.gateway, "GET", "/history")[2] == 401
    assert json.loads(asked(ports.gateway, "GET", "/history", Cookie=cookie)[1])["user"] == "ada"
    headers, piece, status = asked(ports.gateway, "GET", "/files/source", Range="bytes=0-40")
    assert (status, len(piece), headers["content-range"][:11]) == (206, 41, "bytes 0-40/")
    _, stored, status = asked(ports.gateway, "PUT", "/files", bytes(3_000_000))
    assert (status, json.loads(stored)) == (201, {"bytes": 3_000_000})
