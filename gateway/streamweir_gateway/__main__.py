"""Runs the command `streamweir` for `python -m streamweir_gateway`."""

import sys

from streamweir_gateway.cli import main

sys.exit(main())
