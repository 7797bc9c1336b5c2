"""Frames as they came, for clients of the very dialect that their upstream speaks."""
