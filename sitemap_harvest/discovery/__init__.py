"""Which documents are worth fetching for a site, why the others are not fetched, and the result of the search. Pure."""
