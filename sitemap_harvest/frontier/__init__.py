"""Which document is requested next: hosts take turns, within limits. Pure; the clock is an argument."""
