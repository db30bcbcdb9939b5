"""``scrapy harvest``: the package on the command line, inside a Scrapy project or without one."""
