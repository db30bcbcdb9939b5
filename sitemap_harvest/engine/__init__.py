"""The engine of one run: requests documents, reads them, writes records and snapshots, and compares."""
