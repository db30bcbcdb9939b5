"""Which IP addresses a run may connect to. Pure."""
