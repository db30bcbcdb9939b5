"""Whole histories of sites that change and fail at random, crawled again and again: is what the runs tell the truth?

``world`` says how sites change, ``failing`` how their documents fail, ``serving`` is the server, ``crawls`` runs and
kills the crawls, ``oracle`` knows what is true, and ``driving`` joins them. Only ``crawls`` runs the package, by its
commands; the oracle reads what those have written. To run it: ``python -m tests.histories --help``.
"""
