"""What a file of `servers/` says of a real server: what to install, how to start it, what is asked of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

from places import ROOT

HERE: Final = Path(__file__).parent
APPS: Final = HERE / "apps"
"""Programs that are started in a server's environment, and only there."""

Fields = dict[str, Any]


class Place(NamedTuple):
    """Where a server runs, and where its model does.

    Attributes:
        port: where it has to listen, on 127.0.0.1.
        model: base URL of the scripted model; `{model}/asked/v1` does what the newest question names.
        folder: for what it writes; empty at the start.
    """

    port: int
    model: str
    folder: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A request, and what has to come of it.

    Attributes:
        scenario: what the model does: a key of `scripted_model`.
        path: what is asked: an endpoint of the gateway, or of the server where it is asked itself.
        body: what is sent with the message; a canonical request, unless the endpoint passes it through.
        writes: makes the whole body of a message in its place.
        status: of the end; `left`: the client leaves amid the answer, and the server has to notice.
        codes: what an error may be called.
        texts: what the answer says.
        reasoning: what was thought before.
        calls: how the calls of tools ended, in the order of their ends.
        is_parallel: the calls were open at a time.
        answers: the answer that each interaction of the end gets, by a second request.
        then: what has to come of that one.
        is_direct: the server itself is asked, which has the middleware on it.
    """

    scenario: str
    path: str = "/chat"
    body: Mapping[str, Any] | None = None
    writes: Callable[[Place, str], Fields] | None = None
    status: str = "completed"
    codes: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    reasoning: str = ""
    calls: tuple[str, ...] = ()
    is_parallel: bool = False
    answers: Mapping[str, Any] | None = None
    then: Case | None = None
    is_direct: bool = False

    def __str__(self) -> str:
        ending = f", {self.answers['action']}" if self.answers else ""
        return f"{'itself ' if self.is_direct else ''}{self.path} {self.scenario}{ending}"


def _no_variables(place: Place) -> Fields:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A real server, its environment and what is asked of it.

    Attributes:
        requirements: what pip installs into its environment, each at one version.
        command: what the environment's Python is started with.
        gateway: `upstreams` and `endpoints` of the gateway before it.
        cases: what is asked.
        variables: of its environment.
        ready: a path that answers with 200 once it serves; empty: as soon as it listens.
        at_once: how many requests it is sent side by side.
        unwatched: why it goes on when its client leaves; the gateway's own leave counts there.
        leave_tries: how often a client may leave until the server stops; more than one where it notices every
            leave and now and then still goes on.
    """

    requirements: tuple[str, ...]
    command: Callable[[Place], Sequence[str]]
    gateway: Callable[[Place], Fields]
    cases: Sequence[Case]
    variables: Callable[[Place], Fields] = _no_variables
    ready: str = ""
    at_once: int = 1
    unwatched: str = ""
    leave_tries: int = 1


def served_app(name: str) -> Callable[[Place], Sequence[str]]:
    """The command for an ASGI app: `app` of the file `apps/NAME.py`, under uvicorn."""

    def command(place: Place) -> Sequence[str]:
        return ("-m", "uvicorn", "--app-dir", str(APPS), f"{name}:app", "--port", str(place.port))

    return command


def mapped(speaks: str, path: str, **endpoint: Any) -> Callable[[Place], Fields]:
    """The configuration of one endpoint, `/chat`, with mapped requests."""

    def gateway(place: Place) -> Fields:
        upstream = {"url": f"{place.url}{path}", "speaks": speaks, "breaker": "off"}
        return {
            "upstreams": {"server": upstream},
            "endpoints": {"/chat": {"upstream": "server", "request": "mapped"} | endpoint},
        }

    return gateway


def real_servers(names: Sequence[str] = ()) -> dict[str, Server]:
    """Every server of the folder, or those with these names.

    Raises:
        KeyError: there is none with a name.
    """
    found = sorted(file.stem for file in (HERE / "servers").glob("*.py"))
    if unknown := [name for name in names if name not in found]:
        raise KeyError(f"{unknown[0]} is none of {', '.join(found)}")
    servers: dict[str, Server] = {
        name: import_module(f"servers.{name}").SERVER for name in found if not names or name in names
    }
    return servers


__all__ = ["APPS", "ROOT", "Case", "Fields", "Place", "Server", "mapped", "real_servers", "served_app"]
