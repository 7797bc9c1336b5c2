"""`python -m streamweir_gateway`: the command `streamweir`."""

import sys

from streamweir_gateway.cli import main

sys.exit(main())
