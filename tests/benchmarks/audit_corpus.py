"""Audits each document of the corpus of real ones, and prints how often each rule found something.

Usage: python -m tests.benchmarks.audit_corpus [FOLDER...], such as sitemaps
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.audit.test_corpus import audit_of_file
from tests.corpus.test_corpus import FILES


def main() -> None:
    """Print the number of findings and of occurrences of each rule."""
    findings: Counter[str] = Counter()
    occurrences: Counter[str] = Counter()
    for path in FILES:
        if len(sys.argv) == 1 or path.startswith(tuple(sys.argv[1:])):
            with TemporaryDirectory() as folder:
                for finding in audit_of_file(path, Path(folder)).findings():
                    findings[finding.rule] += 1
                    occurrences[finding.rule] += finding.count
    for rule, count in findings.most_common():
        print(f"{rule:36} {count:8,} findings {occurrences[rule]:10,} occurrences")


if __name__ == "__main__":
    main()
