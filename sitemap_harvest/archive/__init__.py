"""Web archives: WARC files written and read, and the files of a WACZ. Knows neither Scrapy nor documents.

Specs: https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/
and https://specs.webrecorder.net/wacz/1.1.1/
"""
