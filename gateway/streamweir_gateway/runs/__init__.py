"""One request: a run at an upstream, and its delivery to a client."""
