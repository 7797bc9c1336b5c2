"""Streams that outlive their connection: started, kept, read again and stopped."""
