"""Stores responses of the Responses API, and continues, reads, deletes and cancels them."""
