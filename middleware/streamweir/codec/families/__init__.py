"""What several dialects of a family have in common: LangChain's messages, OpenAI's chunks, RAGFlow's frames.

A dialect imports from here and never from another dialect.
"""
