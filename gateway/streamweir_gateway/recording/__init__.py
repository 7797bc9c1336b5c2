"""One request to a backend written down as a capture, and captures played as a backend."""
