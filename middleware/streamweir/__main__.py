"""`python -m streamweir`: the library has no command of its own, and says which one there is."""

import sys

if __name__ == "__main__":
    sys.exit("streamweir is a library; its command is `streamweir` (pip install 'streamweir[gateway]').")
