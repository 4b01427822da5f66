"""evalsite judge: the certificate of a judge, and whether it still holds."""

from argparse import ArgumentParser, Namespace
from hashlib import sha256
from pathlib import Path
from typing import Any

from evalsite.command_line.output import DONE, NO, UNDECIDED, Refused, Result
from evalsite.command_line.site import use_site, without_site


def add_arguments(parser: ArgumentParser) -> None:
    parts = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    certify = parts.add_parser(
        "certify", help="write what a study found of a judge", allow_abbrev=False
    )
    add = certify.add_argument
    add("study", metavar="STUDY", help="its id, the beginning of its id, or its title")
    add("--judge", required=True, metavar="NAME", help="the judge, as its labels name it")
    add("--prompt-version", default="", metavar="NAME", help="of several prompts, which one")
    add("--bundle", type=Path, metavar="FILE", help="the bundle that holds the data: its SHA-256 "
        "is written into the certificate")  # fmt: skip
    add("-o", "--out", type=Path, metavar="FILE", default=Path("judge-certificate.json"),
        help="the new file; default: judge-certificate.json")  # fmt: skip
    add("--data", type=Path, metavar="DIR", help="the folder of the site")
    add("--json", action="store_true", help="write one JSON document")
    check = parts.add_parser(
        "check",
        help="say whether a certificate still holds on fresh items that people have rated",
        allow_abbrev=False,
    )
    add = check.add_argument
    add("certificate", metavar="CERTIFICATE", type=Path, help="the certificate")
    add("labels", metavar="LABELS", type=Path, help="the judge's labels of at least 30 fresh items")
    add("ratings", metavar="RATINGS", type=Path, help="people's answers to these items")
    add("--made-from", type=Path, metavar="FILE", help="the labels that the certificate was made "
        "from: the file as it was added, or the study's judge_labels.csv")  # fmt: skip
    add("--prompt", type=Path, metavar="FILE", help="the prompt in use")
    add("--version", metavar="NAME", help="the version of the judge in use")
    add("--settings", metavar="TEXT", help="the settings in use")
    add("--instrument", metavar="SHA256", help="the SHA-256 of the instrument in use")
    add("--json", action="store_true", help="write one JSON document")


def run(options: Namespace) -> Result:
    return _certify(options) if options.action == "certify" else _check(options)


def _certify(options: Namespace) -> Result:
    use_site(options.data)
    from django.core.exceptions import ValidationError

    from evalsite.data.models import Judge
    from evalsite.results.judges.certificate import make_certificate, write_certificate
    from evalsite.results.report.computation import compute_report
    from evalsite.studies.study_lookup import find_study

    study = find_study(options.study)
    judges = {(judge.name, judge.prompt_version): judge for judge in study.judges.all()}
    judge: Judge | None = judges.get((options.judge, options.prompt_version))
    if judge is None:
        listed = ", ".join(map(str, judges.values())) or "none"
        raise Refused(f"{study.title} has no judge {options.judge} with this prompt: {listed}.")
    bundle = "" if options.bundle is None else sha256(options.bundle.read_bytes()).hexdigest()
    try:
        content = make_certificate(study, compute_report(study), judge, bundle=bundle)
    except ValidationError as error:
        raise Refused(" ".join(error.messages)) from None
    with options.out.open("xb") as file:
        file.write(write_certificate(content))
    text = f"Wrote {options.out}. It expires on {content['expires_on']}."
    return Result(text=text, facts={"file": str(options.out), "sha256": content["sha256"]})


def _check(options: Namespace) -> Result:
    with without_site():
        from evalsite.lib.clock import now
        from evalsite.results.judges.certificate import (
            audit,
            find_lapses,
            is_made_from,
            read_certificate,
        )

        lapses, known = list[tuple[str, str]](), list[str]()
        try:
            certificate = read_certificate(options.certificate)
            audits = list(audit(certificate, options.labels, options.ratings))
            if options.made_from is not None:
                name = options.made_from.name
                if is_made_from(certificate, options.made_from):
                    known.append(f"{name} has the labels that the certificate was made from.")
                else:
                    sentence = f"{name} doesn't have the labels that the certificate was made from."
                    lapses.append(("labels_sha256", sentence))
        except ValueError as error:
            raise Refused(str(error)) from None
        lapses += find_lapses(certificate, _read_used(options), today=now().date())
    lapsed = lapses + [
        (question.key, question.sentence) for question in audits if question.outcome == "lapsed"
    ]
    is_open = any(question.outcome == "too_few" for question in audits)
    code = NO if lapsed else UNDECIDED if is_open else DONE
    words = {NO: "Lapsed.", UNDECIDED: "Can't be decided.", DONE: "Holds."}
    sentences = [*known, *(sentence for _, sentence in lapses)]
    sentences += [question.sentence for question in audits]
    facts: dict[str, Any] = {
        "outcome": {NO: "lapsed", UNDECIDED: "undecided", DONE: "holds"}[code],
        "reasons": [reason for reason, _ in lapsed],
        "questions": [
            {"key": question.key, "outcome": question.outcome, **question.facts}
            for question in audits
        ],
    }  # fmt: skip
    return Result(code, "\n".join([words[code], *sentences]), facts)


def _read_used(options: Namespace) -> dict[str, str]:
    """Return what is known of the judge in use, by the names of a certificate's identity."""
    used = {"version": options.version, "settings": options.settings,
            "instrument_sha256": options.instrument}  # fmt: skip
    if options.prompt is not None:
        used["prompt_sha256"] = sha256(options.prompt.read_bytes()).hexdigest()
    return {name: value for name, value in used.items() if value is not None}
