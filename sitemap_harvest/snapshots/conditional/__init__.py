"""How to request a document that is in the last snapshot: skip, conditional GET or plain GET. Pure."""
