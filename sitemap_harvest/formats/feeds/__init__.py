"""Readers of feeds, one entry per item: RSS and RDF, Atom, CDF, and JSON Feed.

``docs/explain/reading.md`` explains the choices.
"""
