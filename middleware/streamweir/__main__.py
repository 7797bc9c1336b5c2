"""`python -m streamweir`: prints that the library has no command, and names the command of the gateway."""

import sys

if __name__ == "__main__":
    sys.exit("streamweir is a library; its command is `streamweir` (pip install 'streamweir[gateway]').")
