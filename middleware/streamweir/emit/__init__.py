"""Streams of an application's own events: written by an engine, read from an iterator, or written as text."""
