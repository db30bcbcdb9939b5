"""Tables of databases as outputs: PostgreSQL, SQLite, DuckDB and Delta Lake. Knows no Scrapy."""

from sitemap_harvest.databases.database import (
    Database as Database,
)
from sitemap_harvest.databases.database import (
    Rows as Rows,
)
from sitemap_harvest.databases.database import (
    open_database as open_database,
)
from sitemap_harvest.databases.location import (
    KINDS as KINDS,
)
from sitemap_harvest.databases.location import (
    DatabaseLocation as DatabaseLocation,
)
from sitemap_harvest.databases.location import (
    Mode as Mode,
)
from sitemap_harvest.databases.location import (
    kind_of as kind_of,
)
from sitemap_harvest.databases.location import (
    parse_location as parse_location,
)
