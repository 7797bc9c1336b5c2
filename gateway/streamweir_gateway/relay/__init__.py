"""A whole service behind one path: what is no agent stream goes through as it came."""
