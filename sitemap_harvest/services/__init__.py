"""What runs inside Scrapyd, or watches runs from outside."""
