"""TLS to upstreams, with real certificates: who is trusted, who is not, and how fast that is said."""

import asyncio
import datetime
import ssl
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
import trustme

from patience import PATIENCE
from scripted_upstream import Call, Upstream, answer, upstream
from streamweir_gateway.config import Tls, UpstreamConfig
from streamweir_gateway.upstream.client import UpstreamClient, UpstreamClients
from streamweir_gateway.upstream.failures import ConnectTimedOut, NotConnected, Unreachable
from streamweir_gateway.upstream.request import Origin, UpstreamRequest
from streamweir_gateway.upstream.tls import TlsFileError, tls_context

pytestmark = pytest.mark.anyio


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    """Servers run on uvloop, whose transports are not quite the standard library's."""
    return "asyncio", {"use_uvloop": request.param}


both = pytest.mark.parametrize("transport", ["auto", "httpcore"])


class Authority:
    """A certificate authority and its files."""

    def __init__(self, folder: Path) -> None:
        self._authority = trustme.CA()
        self._folder = folder
        self.ca = str(folder / "ca.pem")
        self._authority.cert_pem.write_to_path(self.ca)

    def server(self, name: str = "127.0.0.1", *, expired: bool = False) -> ssl.SSLContext:
        """The context of a server with a certificate for `name`."""
        past = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
        dates: dict[str, Any] = (
            {"not_before": past, "not_after": past + datetime.timedelta(1)} if expired else {}
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._authority.issue_cert(name, **dates).configure_cert(context)
        self._authority.configure_trust(context)
        return context

    def client_files(self) -> tuple[str, str]:
        """The files of a client's certificate and of its key."""
        issued = self._authority.issue_cert("client.example")
        cert, key = self._folder / "cert.pem", self._folder / "key.pem"
        issued.cert_chain_pems[0].write_to_path(cert)
        issued.private_key_pem.write_to_path(key)
        return str(cert), str(key)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def secure_server(context: ssl.SSLContext) -> AbstractAsyncContextManager[Upstream]:
    """A server that answers every request with `ok`."""

    async def handle(call: Call) -> None:
        while True:
            await call.read_until(b"\r\n\r\n{}")
            await call.send(answer(b"ok"))

    return upstream(handle, reads_request=False, tls=context)


def config(url: str, transport: str, **tls: object) -> UpstreamConfig:
    return UpstreamConfig.model_validate({"url": url, "tls": tls, "transport": transport})


async def ask(client: UpstreamClient, url: str, *, connect_timeout: float | None = 5.0) -> bytes:
    request = UpstreamRequest("POST", Origin.of(url), "/", [], b"{}")
    async with (
        asyncio.timeout(PATIENCE),
        client.open(request, connect_timeout=connect_timeout) as response,
    ):
        return await response.read()


async def asked(port: int, transport: str, host: str = "127.0.0.1", **tls: object) -> bytes:
    url = f"https://{host}:{port}"
    client = UpstreamClient.for_upstream(config(url, transport, **tls))
    try:
        return await ask(client, url)
    finally:
        await client.aclose()


@both
async def test_tls_with_an_own_authority_succeeds(authority: Authority, transport: str) -> None:
    async with secure_server(authority.server()) as server:
        assert await asked(server.port, transport, ca=authority.ca) == b"ok"


@both
async def test_tls_uses_the_systems_authorities_by_default(authority: Authority, transport: str) -> None:
    async with secure_server(authority.server()) as server:
        with pytest.raises(NotConnected):
            await asked(server.port, transport)


@both
async def test_tls_without_verification_accepts_any_certificate(authority: Authority, transport: str) -> None:
    async with secure_server(authority.server("other.example", expired=True)) as server:
        assert await asked(server.port, transport, verify=False) == b"ok"


@both
async def test_tls_with_an_expired_certificate_fails(authority: Authority, transport: str) -> None:
    async with secure_server(authority.server(expired=True)) as server:
        with pytest.raises(NotConnected):
            await asked(server.port, transport, ca=authority.ca)


@both
@pytest.mark.parametrize(("name", "host"), [("other.example", "127.0.0.1"), ("127.0.0.1", "localhost")])
async def test_tls_with_a_certificate_of_another_host_fails(
    authority: Authority, transport: str, name: str, host: str
) -> None:
    async with secure_server(authority.server(name)) as server:
        with pytest.raises(NotConnected):
            await asked(server.port, transport, host, ca=authority.ca)


@both
async def test_tls_server_name_is_the_configured_host(authority: Authority, transport: str) -> None:
    async with secure_server(authority.server("localhost")) as server:
        assert await asked(server.port, transport, "localhost", ca=authority.ca) == b"ok"


@both
async def test_tls_with_a_client_certificate_succeeds(authority: Authority, transport: str) -> None:
    context = authority.server()
    context.verify_mode = ssl.CERT_REQUIRED
    cert, key = authority.client_files()
    async with secure_server(context) as server:
        assert await asked(server.port, transport, ca=authority.ca, cert=cert, key=key) == b"ok"
        with pytest.raises(Unreachable):
            await asked(server.port, transport, ca=authority.ca)


@both
async def test_tls_to_a_plain_port_fails(transport: str) -> None:
    async def plain(call: Call) -> None:
        await call.read()
        await call.send(answer(b"", status="400 Bad Request"))
        await asyncio.sleep(0.05)

    async with upstream(plain, reads_request=False) as server:
        with pytest.raises(NotConnected):
            await asked(server.port, transport)


@both
async def test_tls_handshake_that_breaks_off_fails(transport: str) -> None:
    async def cut(call: Call) -> None:
        await call.read()

    async with upstream(cut, reads_request=False) as server:
        with pytest.raises(NotConnected):
            await asked(server.port, transport)


@both
async def test_tls_handshake_without_an_end_times_out(transport: str) -> None:
    async with upstream(Call.until_closed, reads_request=False) as server:
        url = f"https://127.0.0.1:{server.port}"
        client = UpstreamClient.for_upstream(config(url, transport))
        with pytest.raises(ConnectTimedOut):
            await ask(client, url, connect_timeout=0.2)
        async with asyncio.timeout(PATIENCE):
            await server.call.closed.wait()
        await client.aclose()


async def test_connection_over_tls_is_reused(authority: Authority) -> None:
    async with secure_server(authority.server()) as server:
        url = f"https://127.0.0.1:{server.port}"
        client = UpstreamClient.for_upstream(config(url, "auto", ca=authority.ca))
        for _ in range(3):
            assert await ask(client, url) == b"ok"
        await client.aclose()
        assert server.connections == 1


def test_upstreams_that_are_reached_alike_share_a_client(authority: Authority) -> None:
    clients = UpstreamClients()
    plain = clients.of(config("http://a.example", "auto"))
    assert clients.of(config("http://b.example", "auto")) is plain
    secure = clients.of(config("https://a.example", "auto", ca=authority.ca))
    assert clients.of(config("https://b.example", "auto", ca=authority.ca)) is secure
    others = [
        clients.of(config("https://a.example", "auto")),
        clients.of(config("https://a.example", "httpcore", ca=authority.ca)),
    ]
    assert len({plain, secure, *others}) == 4


@pytest.mark.parametrize("key", ["ca", "cert", "key"])
@pytest.mark.parametrize("content", [None, "not a certificate"])
def test_tls_with_unusable_files_is_refused(
    authority: Authority, tmp_path: Path, key: str, content: str | None
) -> None:
    cert, good_key = authority.client_files()
    broken = tmp_path / "broken.pem"
    if content is not None:
        broken.write_text(content)
    files: dict[str, Any] = {"ca": authority.ca, "cert": cert, "key": good_key, key: str(broken)}
    with pytest.raises(TlsFileError, match="broken.pem" if key != "key" else "cert.pem"):
        tls_context(Tls(**files))


def test_tls_key_with_a_password_fails_without_a_prompt(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    authority = Authority(tmp_path)
    cert, key = authority.client_files()
    locked = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )
    Path(key).write_bytes(locked)
    with pytest.raises(TlsFileError):
        tls_context(Tls(cert=cert, key=key))
