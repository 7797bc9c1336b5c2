"""Learning a dialect from recorded bodies: `streamweir learn`.

Frames are told apart (`kinds`, `groups`), their fields compared (`units`, `series`), what they mean is
concluded (`texts`, `tools`, `endings`, `meanings`), written down (`draft`) and tried on what it was learned
from (`trial`, `examples`). Source: the dialect-file contract, section 10.
"""
