"""The dialects, one folder each: the event vocabularies that backends and clients speak."""
