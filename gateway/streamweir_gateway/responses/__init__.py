"""The responses of the Responses API that the gateway keeps: stored, continued, read, deleted, cancelled."""
