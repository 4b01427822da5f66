"""How the report is checked and repeated."""

from collections.abc import Iterator

from evalsite.results.document.blocks import Block, Code, Heading, Sentence
from evalsite.results.report.source import Source


def make_repeat(source: Source) -> Iterator[Block]:
    yield Heading("Check and repeat", 2, "repeat")
    facts = source.facts
    version = f" The study’s texts and settings are those of {facts.version}."
    yield Sentence(
        "data_hash",
        f"SHA-256 of ratings.csv: {facts.sha256}.{version if facts.version else ''}",
    )
    yield Sentence(
        "verify",
        "The first command computes every figure of this report again from the study’s bundle; the "
        "second compares a repetition of the study with this one. The scripts in the bundle print "
        "the same verdicts.",
    )
    yield Code("sh", "evalsite verify bundle.zip\nevalsite repeat bundle.zip")
