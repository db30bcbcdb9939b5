"""Tables of databases as outputs: PostgreSQL, SQLite, DuckDB and Delta Lake. Knows no Scrapy."""

from sitemap_harvest.databases.database import Database, Rows, open_database
from sitemap_harvest.databases.location import KINDS, SCHEMES, DatabaseLocation, Mode, kind_of, parse_location

__all__ = [
    "KINDS",
    "SCHEMES",
    "Database",
    "DatabaseLocation",
    "Mode",
    "Rows",
    "kind_of",
    "open_database",
    "parse_location",
]
