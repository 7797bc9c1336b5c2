"""Copies of the upstream's frames, for clients of the upstream's own dialect."""
