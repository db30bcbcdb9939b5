"""HTML pages: what one is, the links of a site map for people, what any page hints at, what a browser has wrapped."""
