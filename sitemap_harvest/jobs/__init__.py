"""Crawls of many sites as jobs on PostgreSQL, by workers on any number of machines."""
