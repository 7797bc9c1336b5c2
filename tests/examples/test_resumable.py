"""The replicas of the example run as their file says, and one reads on in what the other began."""

import os
import re
import subprocess
from contextlib import ExitStack

from command_line import COMMAND
from one_request import asked, wait_for
from places import ROOT
from ports import free_port
from redis_servers import redis_binaries, redis_server
from streamweir.testing import check_stream

FOLDER = ROOT / "examples" / "resumable"


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
        headers, whole, _ = asked(ports[0], "POST", "/chat", b"{}", Origin="http://127.0.0.1:8000")
        assert check_stream(whole) == []
        assert "X-Streamweir-Run" in headers["access-control-expose-headers"]
        ids = re.findall(rb"^id: (\S+)$", whole, re.M)
        path = headers["content-location"]
        _, rest, status = asked(ports[1], "GET", path, Last_Event_ID=ids[4].decode())
        assert status == 200
        assert whole.endswith(rest)
        assert rest.startswith(b"id: " + ids[5])
