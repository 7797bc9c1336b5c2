"""The server around the application: uvicorn made fit for strangers, processes, stopping, reloading."""
