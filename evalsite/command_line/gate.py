"""evalsite gate: whether a system is worse than another by more than a margin, for workflows."""

import re
import shutil
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import file_digest
from math import inf, nan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import is_zipfile

from evalsite.analysis.__main__ import add_reading, analyse_ratings
from evalsite.analysis.figure import to_plain
from evalsite.analysis.gate import LEVELS
from evalsite.command_line.output import Refused, Result
from evalsite.command_line.ratings_file import open_ratings
from evalsite.command_line.site import without_site
from evalsite.command_line.verify import add_plan_hash
from evalsite.lib.limited import open_zip
from evalsite.results.report.bare import write_gate

_MOST_SHOWN = 3
_MARKDOWN = re.compile(r"[\\`*_\[\]|~]|<(?=[^\s])")


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("file", metavar="FILE", type=Path, help="a bundle of a study, which is verified first, or "
        "a file of ratings")  # fmt: skip
    add("--system", dest="gate", required=True, metavar="NAME", help="the system to decide about")
    add("--against", required=True, metavar="NAME", help="what it is compared with")
    add("--margin", required=True, type=_parse_margin, metavar="NUMBER", help="in units of the "
        "scale; of decisions and preferences a share, such as 0.05; of magnitudes a ratio, such "
        "as 1.1")  # fmt: skip
    add("--criterion", metavar="KEY", help="the criterion that decides; default: the primary one "
        "of the bundle's plan")  # fmt: skip
    add("--level", type=float, choices=LEVELS, help="the level of the one-sided test; 0.025 for "
        f"gates that run daily; default: {LEVELS[0]}")  # fmt: skip
    add("--slices", metavar="COLUMN", help="the column that divides the inputs, such as language: "
        "the gate fails if the system is worse by more than the margin in one of them")  # fmt: skip
    add("--undecided", choices=("pass", "fail"), help="end with the exit code of this outcome "
        "where nothing is decided")  # fmt: skip
    add("--summary", type=Path, metavar="FILE", help="add the outcome to this file as Markdown")
    add_plan_hash(parser)
    add_reading(parser)
    parser.set_defaults(
        command="report", metrics=None, file_order=False, other_papers=False, first=None, rater=[]
    )


def _parse_margin(text: str) -> float:
    try:
        margin = float(text)
    except ValueError:
        margin = nan
    if not 0 < margin < inf:
        raise ArgumentTypeError("write a number above 0, such as 0.2")
    return margin


def run(options: Namespace) -> Result:
    with options.file.open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    with _open_ratings(options):
        options.primary = options.criterion or options.primary
        options.level = options.level or LEVELS[0]
        options.slices = options.slices or ""
        try:
            _, decision = analyse_ratings(options)
        except ValueError as error:
            raise Refused(str(error)) from None
    assert decision is not None
    sentence = write_gate(decision)
    if options.summary is not None:
        try:
            with options.summary.open("a", encoding="utf-8") as summary:
                summary.write(_write_summary(options, sentence, digest))
        except OSError as error:
            raise Refused(f"{options.summary} can't be written: {error.strerror}.") from None
    return Result(
        decision["status"],
        f"{sentence}\n{options.file}: SHA-256 {digest}",
        {
            "outcome": decision["outcome"],
            "sentence": sentence,
            "sha256": digest,
            "gate": to_plain(decision),
        },
    )


def _write_summary(options: Namespace, sentence: str, digest: str) -> str:
    title, text = map(_escape, (f"{options.gate} against {options.against}", sentence))
    return (
        f"### Human evaluation: {title}\n\n{text}\n\n`{options.file.name}`, SHA-256 `{digest}`\n\n"
    )


def _escape(text: str) -> str:
    """Return text as one line of Markdown: names of systems hold `_`, `*` and `<`."""
    return _MARKDOWN.sub(r"\\\g<0>", " ".join(text.split()))


@contextmanager
def _open_ratings(options: Namespace) -> Iterator[None]:
    """Let the options name a file of ratings: the one that was given, or that of a bundle."""
    options.counted_in = options.file.parent
    if not _is_bundle(options.file):
        if options.plan_hash is not None:
            raise Refused("Only a bundle has a plan. Leave --plan-hash out.")
        options.ratings = options.file
        with open_ratings(options):
            yield
        return
    with TemporaryDirectory(prefix="evalsite-gate-") as path:
        _unpack(options, Path(path))
        yield


def _is_bundle(path: Path) -> bool:
    """Return whether a zip is a bundle, and not a workbook or a table."""
    if not is_zipfile(path):
        return False
    with without_site(), path.open("rb") as file:
        from evalsite.data.bundle.format import CHECKSUMS

        with open_zip(file) as archive:
            return CHECKSUMS in archive.namelist()


def _unpack(options: Namespace, folder: Path) -> None:
    """Verify the bundle and copy its ratings and items into the folder."""
    with without_site(), options.file.open("rb") as file:
        from evalsite.data.bundle.format import ANALYSIS_PLAN, name_data
        from evalsite.data.bundle.read import open_bundle
        from evalsite.data.bundle.verify import check_plan_hash, verify_bundle

        report = verify_bundle(file)
        if not report.is_sound:
            faults = " ".join(map(str, report.faults[:_MOST_SHOWN]))
            raise Refused(f"This bundle isn't what it says, so nothing is decided. {faults}")
        if not report.about["has_data"]:
            raise Refused("This bundle has no answers. Export it with its data.")
        if options.plan_hash is not None:
            is_committed, sentences = check_plan_hash(report, options.plan_hash)
            if not is_committed:
                raise Refused(" ".join(sentences))
        with open_bundle(file) as bundle:
            plan = bundle.read_json(ANALYSIS_PLAN)
            files = ["ratings", "items"]
            files += [name for name in ("judge_labels",) if name_data(name) in bundle.names]
            for name in files:
                with bundle.open(name_data(name)) as source, (folder / name).open("wb") as target:
                    shutil.copyfileobj(source, target)
    options.ratings, options.items = folder / "ratings", folder / "items"
    if "judge_labels" in files:
        options.judge_labels = folder / "judge_labels"
    options.primary = options.primary or plan.get("primary", "")
    if options.plan_hash is not None:
        _follow_plan(options, plan, report.plan_versions)
    else:
        _follow_newest(options, plan)


def _follow_plan(
    options: Namespace, plan: Mapping[str, Any], versions: list[dict[str, Any]]
) -> None:
    """Take what the committed plan fixes; Refused if the options ask for something else."""
    number = next(
        version["number"] for version in versions
        if version["sha256"].startswith(options.plan_hash)
    )  # fmt: skip
    content = next(
        version["content"] for version in plan["frozen"]["versions"]
        if version["number"] == number
    )  # fmt: skip
    options.criterion = options.criterion or content.get("primary")
    planned = _list_margins(options, content)
    if not planned:
        raise Refused(
            f"The committed plan has no margin for {options.gate} against {options.against}."
        )
    if len(planned) > 1:
        criteria = ", ".join(margin["criterion"] for margin in planned)
        raise Refused(
            f"The committed plan has margins on several criteria: {criteria}. Say which one "
            "decides, with --criterion."
        )
    (margin,) = planned
    fixed = {
        "margin": margin["margin"],
        "level": margin.get("level", LEVELS[0]),
        "slices": margin.get("slices", ""),
    }
    for name, value in fixed.items():
        asked = getattr(options, name)
        if asked is not None and asked != value:
            raise Refused(
                f"The committed plan has --{name} {value or '(none)'}, not {asked}. Use that one."
            )
        setattr(options, name, value)
    options.criterion = margin["criterion"]
    _follow_judge(options, margin)


def _follow_newest(options: Namespace, plan: Mapping[str, Any]) -> None:
    """Take the judge that the newest plan names for these systems; the options fix all else."""
    key = options.criterion or options.primary
    planned = [
        margin for margin in _list_margins(options, plan)
        if margin["criterion"] == (key or margin["criterion"])
    ]  # fmt: skip
    _follow_judge(options, planned[0] if len(planned) == 1 else {})


def _list_margins(options: Namespace, plan: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """List the plan's margins of the two systems, on the chosen criterion if one is chosen."""
    return [
        margin for margin in plan.get("margins", ())
        if margin["relation"] == "not_worse"
        and (margin["system"], margin["other"]) == (options.gate, options.against)
        and margin["criterion"] == (options.criterion or margin["criterion"])
    ]  # fmt: skip


def _follow_judge(options: Namespace, margin: Mapping[str, Any]) -> None:
    """Let the judge that the plan names decide, as it does in the report."""
    options.planned_judge = {
        name: margin[name] for name in ("judge", "prompt_version") if margin.get(name)
    }
