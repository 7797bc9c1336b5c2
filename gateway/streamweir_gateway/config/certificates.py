"""Checks the certificate files that the upstreams' `tls` names, before the gateway starts."""

from __future__ import annotations

import ssl
import stat
from dataclasses import dataclass
from pathlib import Path

from streamweir.yaml_files.report import KeyPath, Report
from streamweir.yaml_files.unresolved import Unresolved
from streamweir_gateway.config.models import GatewayConfig, Tls

__all__ = ["check_certificates"]


def check_certificates(config: GatewayConfig, report: Report, *, tolerant: bool) -> None:
    """Report the files under `tls` that cannot be used.

    With `tolerant` an unreadable file is no problem, and values that need the file are not checked.
    """
    for name, upstream in config.upstreams.items():
        if upstream.tls.model_fields_set:
            _Check(("upstreams", name, "tls"), upstream.tls, report, tolerant).all()


@dataclass(frozen=True)
class _Check:
    where: KeyPath
    tls: Tls
    report: Report
    tolerant: bool

    def all(self) -> None:
        named = {
            name: path for name in ("ca", "cert", "key") if (path := getattr(self.tls, name)) is not None
        }
        found = {name: path for name, text in named.items() if (path := self._readable(name, text))}
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if "ca" in found:
            try:
                context.load_verify_locations(found["ca"])
            except (OSError, ValueError):
                self._report("ca", "holds no certificates in PEM form")
        if "cert" in found and found.keys() >= named.keys() & {"key"}:
            self._pair(context, found["cert"], found.get("key"))

    def _pair(self, context: ssl.SSLContext, cert: Path, key: Path | None) -> None:
        try:
            # Without a password of ours, OpenSSL would ask for one on the terminal.
            context.load_cert_chain(cert, key, password="")
        except (OSError, ValueError):
            which = "certificate and key" if key is None else "certificate to which `key` belongs"
            self._report("cert", f"holds no {which} (PEM, the key without a password)")

    def _readable(self, name: str, text: str) -> Path | None:
        if isinstance(text, Unresolved):
            return None
        path = Path(text)
        try:
            # A pipe or a device would be read without an end.
            reason = None if stat.S_ISREG(path.stat().st_mode) else "not a file"
            if reason is None:
                path.open("rb").close()
        except (OSError, ValueError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or "not a path"
        if reason is None:
            return path
        if not self.tolerant:
            self._report(name, f"cannot be read: {reason}")
        return None

    def _report(self, name: str, message: str) -> None:
        self.report.at_value((*self.where, name), message)
