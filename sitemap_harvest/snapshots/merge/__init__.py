"""The next snapshot of a site, from the last snapshot and the records of a run. Pure."""
