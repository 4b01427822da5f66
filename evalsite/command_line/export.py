"""evalsite export: a study with everything that belongs to it, as one .zip."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from evalsite.command_line.output import Result
from evalsite.command_line.site import use_site


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("study", metavar="STUDY", help="its id, the beginning of its id, or its title")
    add("-o", "--out", type=Path, metavar="FILE", help="the new file; default: one in this folder, "
        "named after the study")  # fmt: skip
    add("--without-data", action="store_true", help="only items, texts and design; no answers")
    add("--with-free-text", action="store_true", help="include what participants wrote in their "
        "own words: read it before you share it")  # fmt: skip
    add("--public", action="store_true", help="to publish: only people who agreed that their "
        "answers may be shared, without entry answers")  # fmt: skip
    add("--anonymous", action="store_true", help="for peer review: replace names of people, "
        "institutions and sites in the texts")  # fmt: skip
    add("--replace", action="append", default=[], metavar="NAME=WORDS", help="with --anonymous: "
        "replace this name too, or by other words")  # fmt: skip
    add("--dataset", type=Path, metavar="FOLDER", help="instead, write a dataset into this new "
        "folder: ratings, comparisons and preferences of people who share them, with texts and a "
        "card")  # fmt: skip
    add("--preferences", metavar="KEY", help="with --dataset: the question that decides "
        "preferences; \"\": none (default: the primary one)")  # fmt: skip
    add("--unpaired", metavar="KEY", help="with --dataset: the question by which outputs are good "
        "or bad")  # fmt: skip
    add("--good-from", type=float, metavar="MEAN", help="with --unpaired: from this mean on an "
        "output is good; where lower is better, up to it")  # fmt: skip
    add("--bad-below", type=float, metavar="MEAN", help="with --unpaired: below this mean it is "
        "bad; where lower is better, above it")  # fmt: skip
    add("--json-lines", action="store_true", help="with --dataset: JSON lines, also where Parquet "
        "could be written")  # fmt: skip
    add("--scores", metavar="NAME", help="instead, write the scores that go back to a tool: "
        "inspect_scores, promptfoo_scores, langfuse_scores, langsmith_feedback or "
        "lm_eval_scores")  # fmt: skip
    add("--pass-from", type=float, default=0.5, metavar="SCORE", help="with promptfoo_scores: the "
        "least score, from 0 to 1, that passes (default: %(default)s)")  # fmt: skip
    add("--data", type=Path, metavar="DIR", help="the folder of the site")


def run(options: Namespace) -> Result:
    use_site(options.data)
    if options.dataset is not None:
        return _export_dataset(options)
    if options.scores is not None:
        return _export_scores(options)
    from evalsite.data.management.commands.export_bundle import describe_export, export_study
    from evalsite.studies.study_lookup import find_study

    path, packed, lines = export_study(find_study(options.study), options.out, vars(options))
    facts = {"file": str(path), "sha256": packed.sha256, "bytes": packed.size,
             "ratings": packed.ratings}  # fmt: skip
    return Result(text="\n".join([describe_export(path, packed), *lines]), facts=facts)


def _export_dataset(options: Namespace) -> Result:
    from evalsite.data.management.commands.export_bundle import export_dataset
    from evalsite.studies.study_lookup import find_study

    named = {
        "preferences": options.preferences,
        "unpaired": options.unpaired,
        "good_from": options.good_from,
        "bad_below": options.bad_below,
        "is_parquet": False if options.json_lines else None,
        "has_comments": options.with_free_text,
    }
    chosen = {name: value for name, value in named.items() if value is not None}
    made = export_dataset(find_study(options.study), options.dataset, chosen)
    rows = [f"{table} {count:,}" for table, count in made.rows.items()]
    people = made.left_out["people"]
    left_out = f" Left out: {people:,} who did not agree to share." if people else ""
    facts = {"folder": str(options.dataset), "rows": made.rows, "left_out": made.left_out}
    return Result(text=f"{options.dataset}: {', '.join(rows)}.{left_out}", facts=facts)


def _export_scores(options: Namespace) -> Result:
    from evalsite.data.management.commands.export_bundle import export_scores
    from evalsite.studies.study_lookup import find_study

    study = find_study(options.study)
    path, written = export_scores(study, options.scores, options.out, options.pass_from)
    facts = {"file": str(path), "sha256": written.sha256, "rows": written.rows}
    return Result(text=f"{path}: {written.rows:,} rows.", facts=facts)
