"""Code that dialects of a family share: LangChain's messages, OpenAI's chunks, RAGFlow's frames.

A dialect imports from here and never from another dialect.
"""
