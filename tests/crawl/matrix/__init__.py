"""Every way in which a document can fail, at every place of a site, and the changes that the runs must then report.

Each pair of a fault and a place is a separate site with its own host name. All of them are crawled four times, each
time by one process: before the fault, during it, after it, and once more. Their entries changed once, during the fault.
"""
