"""Made-up credentials, addresses and stack traces of a careless backend, to test for leaks."""

from __future__ import annotations

from typing import Final

__all__ = ["CREDENTIALS", "HEADERS", "LOCATION", "PRIVATE", "REASON", "TEXT"]

CREDENTIALS: Final = (
    "sk-fake-9d1f7c3b5a2e4f60",
    "eyJhbGciOiJub25lIn0.eyJzdWIiOiJmYWtlIn0.c2lnbmF0dXJlLWZha2U",
    "hunter2-fake",
    "AKIAFAKE7EXAMPLE4KEY",
    "ghp_FakeFakeFakeFakeFakeFakeFakeFake1234",
)
"""Texts that must not appear anywhere, not even in a log."""

PRIVATE: Final = (
    "/srv/fake/agent/tools/orders.py",
    "Traceback (most recent call last)",
    "db-fake.internal",
    "10.98.76.54",
    "ops@fake-backend.example",
)
"""Texts that must not reach a client."""

_KEY, _JWT, _PASSWORD, _AWS, _GITHUB = CREDENTIALS

TEXT: Final = (
    "Traceback (most recent call last):\n"
    '  File "/srv/fake/agent/tools/orders.py", line 42, in run\n'
    "    cursor.execute(sql)\n"
    f"OperationalError: connection to server at db-fake.internal (10.98.76.54) failed: password={_PASSWORD} "
    f"api_key={_KEY} Authorization: Bearer {_JWT} postgres://agent:{_PASSWORD}@db-fake.internal:5432/orders "
    f"aws_access_key_id={_AWS} token={_GITHUB}; ask ops@fake-backend.example"
)
"""The message of a backend that shows `str(exception)` to its users."""

LOCATION: Final = f"http://agent:{_PASSWORD}@db-fake.internal/login?api_key={_KEY}"
REASON: Final = f"Failed at /srv/fake/agent/tools/orders.py with api_key={_KEY}"
"""The reason phrase of the status line."""

HEADERS: Final = (
    "Server: fake-backend (10.98.76.54)",
    "X-Powered-By: /srv/fake/agent/tools/orders.py",
    f"X-Debug: api_key={_KEY}",
    f"Set-Cookie: session={_JWT}; Path=/",
    f"WWW-Authenticate: Bearer realm=db-fake.internal, token={_GITHUB}",
)
"""The headers of every response."""
