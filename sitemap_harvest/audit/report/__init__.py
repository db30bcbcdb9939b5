"""Reports of the audit, for people and for CI."""
