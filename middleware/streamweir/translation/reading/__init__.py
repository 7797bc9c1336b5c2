"""The parts of a `StreamReader`: frames to events, texts read without parsing, frames that cannot be read."""
