"""How failures reach clients of the upstream's own dialect: a status, an error frame, a broken body."""
