"""Downloader middlewares: private addresses, site headers, robots.txt cache, local files, Retry-After, encodings."""
