"""Records one request to a backend as a capture, and plays captures as a backend."""
