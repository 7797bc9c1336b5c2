"""Runs a request at an upstream, and delivers the stream to the client."""
