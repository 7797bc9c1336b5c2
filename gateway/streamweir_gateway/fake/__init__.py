"""The fake backend: plays an agent run in any dialect, with faults on purpose.

It uses raw sockets, because faults concern bytes and connections:

    the run's events -> body.py (faults between and in events) -> coding.py (gzip ...) -> transfer.py (chunks,
    lengths) -> segmentation.py (how the bytes are cut) -> server.py (the socket)

`script.py` contains the run, `faults.py` the table of all faults. `fault_syntax.py` parses faults such as
`cut@40`, and `backend.py` combines these parts. The demo backends play the same script without faults.
"""

from streamweir_gateway.fake.backend import serve_fake
from streamweir_gateway.fake.fault_syntax import parse_faults
from streamweir_gateway.fake.faults import FAULTS, Fault
from streamweir_gateway.fake.server import FakeBackend
from streamweir_gateway.fake.settings import Settings

__all__ = ["FAULTS", "FakeBackend", "Fault", "Settings", "parse_faults", "serve_fake"]
