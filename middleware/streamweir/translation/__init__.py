"""From upstream bytes to client bytes: reader, pipeline, writers, and the `Translator` that owns them."""
