"""A fuzz target for reading: ``python -m tests.fuzz [FOLDER] [-max_total_time=SECONDS] [-timeout=SECONDS]``.

Needs atheris (the extra ``fuzz``), and takes the options of libFuzzer. Starts from the fixtures; what it learns goes to
FOLDER, if one is given. A find is written to ``crash-...``; add its bytes to ``fixtures/finds``, which
``tests/fuzz/test_finds.py`` reads.
"""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["sitemap_harvest"]):
    from tests.fuzz.mutations import FIXTURES, WORDS
    from tests.fuzz.reading import check


def main() -> None:
    """Run until libFuzzer's options end it."""
    with tempfile.TemporaryDirectory() as folder:
        seeds, words = Path(folder, "seeds"), Path(folder, "words")
        seeds.mkdir()
        for number, path in enumerate(path for path in FIXTURES.rglob("*") if path.is_file()):
            if path.suffix != ".jsonl" and path.stat().st_size < 20_000:
                (seeds / str(number)).write_bytes(path.read_bytes())
        words.write_text("".join(f'"{_escaped(word)}"\n' for word in WORDS), "utf-8")
        atheris.Setup([*sys.argv, str(seeds), f"-dict={words}", "-max_len=4096"], check)
        atheris.Fuzz()


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


if __name__ == "__main__":
    main()
