"""A real nginx before an address, with the lines that its users are told to write."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from ports import free_port, until_open

NGINX: Final = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ }}
http {{
  map $http_upgrade $upgrade {{ default upgrade; '' ''; }}
  access_log off; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b;
  fastcgi_temp_path {folder}/c; uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass {target}; proxy_http_version 1.1; proxy_buffering off;
      proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $upgrade; }}
  }}
}}
"""


@asynccontextmanager
async def nginx(target: str, folder: Path) -> AsyncIterator[str]:
    """An nginx before an address."""
    port = free_port()
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port, target=target))
    run = await asyncio.create_subprocess_exec("nginx", "-c", str(folder / "nginx.conf"))
    try:
        await until_open(port, "nginx", 10)
        yield f"http://127.0.0.1:{port}"
    finally:
        run.terminate()
        await run.wait()
