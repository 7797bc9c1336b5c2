"""The console: a web page and an API that show each stream. `processes/console_process.py` runs it."""
