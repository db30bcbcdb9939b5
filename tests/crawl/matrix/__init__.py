"""Every way in which a document can fail, at every place of a site: what the changes between runs must then say.

Each pair of a fault and a place is a site of its own, with a host name of its
own. All of them are crawled four times, each time by one process: before,
during the fault, after it, and once more. What they list has changed once, while
the fault lasted.
"""
