"""The console shows people what happened in each stream; `processes/console_process.py` runs it."""
