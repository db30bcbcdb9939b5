"""Whole histories of sites that change and fail at random, crawled again and again: are the reported changes true?

``world`` says how sites change, ``failing`` how their documents fail, ``serving`` is the server, ``crawls`` runs and
kills the crawls, ``oracle`` knows the truth, and ``driving`` joins them. Only ``crawls`` runs the package, by its
commands; the oracle reads their output. To run it: ``python -m tests.histories --help``.
"""
