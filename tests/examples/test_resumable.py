"""The replicas of the example run as their file says, and one reads on in what the other began."""

import http.client
import os
import re
import subprocess
import time
from contextlib import ExitStack

from command_line import COMMAND
from places import ROOT
from ports import free_port
from redis_servers import redis_binaries, redis_server
from streamweir.testing import check_stream

FOLDER = ROOT / "examples" / "resumable"


def asked(port: int, method: str, path: str, **headers: str) -> tuple[dict[str, str], bytes, int]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body=b"{}" if method == "POST" else None, headers=sent)
        response = connection.getresponse()
        found = {name.lower(): value for name, value in response.getheaders()}
        return found, response.read(), response.status
    finally:
        connection.close()


def test_two_replicas_serve_one_run() -> None:
    ports = [free_port(), free_port()]
    with ExitStack() as stack:
        store = stack.enter_context(redis_server(redis_binaries()[0]))
        for port in ports:
            command = [*COMMAND, "serve", str(FOLDER / "replica.yaml")]
            environment = {**os.environ, "PORT": str(port), "STORE": store.url}
            replica = subprocess.Popen(
                command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            stack.callback(replica.wait)
            stack.callback(replica.kill)
        for port in ports:
            wait_for(port)
        headers, whole, _ = asked(ports[0], "POST", "/chat", Origin="http://127.0.0.1:8000")
        assert check_stream(whole) == []
        assert "X-Streamweir-Run" in headers["access-control-expose-headers"]
        ids = re.findall(rb"^id: (\S+)$", whole, re.M)
        path = headers["content-location"]
        _, rest, status = asked(ports[1], "GET", path, Last_Event_ID=ids[4].decode())
        assert status == 200
        assert whole.endswith(rest)
        assert rest.startswith(b"id: " + ids[5])


def wait_for(port: int) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            asked(port, "GET", "/healthz")
        except OSError:
            assert time.monotonic() < deadline, "it does not listen"
            time.sleep(0.1)
        else:
            return
