"""What tests of bundles share: studies with everything in them, packed, tampered with, unpacked."""

import io
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import astuple
from datetime import timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from django.db import IntegrityError, transaction

from evalsite.data.bundle import verify
from evalsite.data.bundle.anonymous import make_copy
from evalsite.data.bundle.compare import Findings, check_bundle
from evalsite.data.bundle.copy import copy_bundle, write_pages
from evalsite.data.bundle.format import CHECKSUMS, Contents, write_checksums
from evalsite.data.bundle.read import BadBundle, Bundle, open_bundle
from evalsite.data.bundle.verify import Report, verify_bundle
from evalsite.data.bundle.write import write_bundle
from evalsite.data.models import MetricFile, MetricScore
from evalsite.decisions.models import AnalysisPlan, Exclusion
from evalsite.fieldwork.simulation import simulate_crowd
from evalsite.handout.models import Annotation, Rating
from evalsite.instruments.installed import installed_protocols
from evalsite.lib.clock import now
from evalsite.participation.consent import withdraw
from evalsite.participation.saving import keep_revision
from evalsite.people.models import Answer, ParticipantIdentity, ParticipantLink
from evalsite.studies.models import Output, Study
from evalsite.studies.version_cache import forget_versions
from tests.support.emptying import made_once, no_rows
from tests.support.factories import (
    make_annotator,
    make_participant,
    make_user,
    mint_link,
    set_completion,
)
from tests.support.hostile import make_hostile

Files = dict[str, bytes]

RULE = '=1+1, "too fast":\n\tfewer than 8 of 10 checks, <b>ß</b>'

# none of these may stand in a bundle
STAFF, WORKER, CODE, NOTE, FEEDBACK = (
    "staff-ada", "5f0c0ffee5f0c0ffee5f0c0f", "CODE-C0FFEE", "I am Jo Bloggs", "call me Jo, 555"
)  # fmt: skip


def make_full_study(protocol: str, **fields: Any) -> Study:
    """A study of hostile texts: answers, changed answers, notes, exclusions, one who left."""
    config = installed_protocols()[protocol]
    given = {"is_demo": True, "k": 3, "by": make_user(STAFF), **fields}
    study = make_hostile(config, is_short=True, **given)
    set_completion(study, code=CODE)
    crowd = simulate_crowd(study, participants=4, seed="bundle")
    four = next(crowd)
    withdraw(participant=four, is_kept=False)
    people = list(crowd)
    if len(people) == 2:
        # nobody else was let in: somebody who has agreed and answered nothing
        people.append(make_annotator(study, origin="simulated"))
        mint_link(people[-1])
    one, two, three = people
    make_participant(study, is_pilot=True)
    ParticipantIdentity.objects.create(
        study=study, participant=one, platform="a platform", outside_id=WORKER
    )
    Answer.objects.create(study=study, participant=one, question="feedback", value=FEEDBACK)
    answers = Annotation.objects.filter(study=study, status="counted").order_by("id")
    for answer in answers[:2]:
        answer.note = NOTE
        answer.save()
        keep_revision(answer)
    if config.has_highlight:
        mark(answers.filter(outcome="rated")[0])
    decided = {"study": study, "decided_by": make_user(STAFF)}
    Exclusion.objects.create(participant=two, reason="=1+1, too fast", rule="pace", **decided)
    Exclusion.objects.create(annotation=answers[0], reason="odd", revoked_at=now(), **decided)
    Exclusion.objects.create(annotation=answers[1], reason="odd", **decided)
    assert ParticipantLink.objects.filter(participant=three).exists()
    score(study)
    write_plan(study)
    return study


def write_plan(study: Study) -> AnalysisPlan:
    """A plan with hostile words: its question chosen before any answer, its rule after some."""
    answers = Annotation.objects.filter(study=study, item__kind="main").exclude(status="pilot")
    given = sorted(answers.values_list("submitted_at", flat=True))
    middle = given[len(given) // 2] + timedelta(microseconds=1)
    return AnalysisPlan.objects.create(
        study=study,
        primary=study.config.criteria[0].key,
        primary_changed_at=given[0],
        thresholds={"gold": 0.7, "rho": -0.1},
        thresholds_changed_at=given[0] - timedelta(days=1),
        exclusion_rule=RULE,
        rule_changed_at=middle,
        changed_at=middle,
        changed_by=make_user(STAFF),
    )


def score(study: Study) -> None:
    """Two files with what metrics gave to every output, in numbers that no text may round."""
    given = {"study": study, "uploaded_by": make_user(STAFF)}
    outputs = Output.objects.filter(item__study=study, item__kind="main").order_by("-id")
    for number, metric in enumerate(('=SUM(A1), "BLEU"', "β-score")):
        name = f"{number}.csv"
        file = MetricFile.objects.create(file_name=name, sha256=str(number) * 64, **given)
        MetricScore.objects.bulk_create(
            MetricScore(file=file, output=output, metric=metric, value=place / 7 - 1e-17)
            for place, output in enumerate(outputs)
        )


def mark(answer: Annotation) -> None:
    """The first signs of the output are marked, whatever was marked before."""
    answer.ratings.marks().delete()
    output = answer.item.outputs.get()
    Rating.objects.create(
        study=answer.study,
        annotation=answer,
        output=output,
        criterion="highlights",
        start=0,
        end=9,
        text=output.text[:9],
    )


def close(study: Study) -> Study:
    Study.objects.filter(pk=study.pk).update(state="closed", closed_at=now())
    study.refresh_from_db()
    return study


@cache
def bundle_of(protocol: str, *, with_free_text: bool = True) -> bytes:
    """The bundle of a full, closed study that stands nowhere any more: made once, for all tests."""

    def make() -> bytes:
        with transaction.atomic():
            bundle = pack(close(make_full_study(protocol)), has_free_text=with_free_text)
            transaction.set_rollback(True)
        return bundle

    return made_once(f"bundle-{protocol}-{with_free_text}", make)


def pack(study: Study, **contents: bool) -> bytes:
    target = io.BytesIO()
    write_bundle(study.pk, Contents(**contents), target)
    return target.getvalue()


def check(bundle: bytes) -> Report:
    return verify_bundle(io.BytesIO(bundle))


def move_data(settings: Any, folder: Path) -> None:
    """Keep the site's files in this folder, with the empty database for checks of bundles."""
    made = list(Path(settings.DATA_DIR).glob("empty-database-*"))
    folder.mkdir(exist_ok=True)
    for file in made:
        shutil.copyfile(file, folder / file.name)
    settings.DATA_DIR = folder


def examine(bundle: bytes) -> Report:
    """As `check`, but without a child process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verify, "_check_in_scratch", examine_here)
        return check(bundle)


def examine_here(bundle: Bundle, file: Any, report: Report) -> None:
    """Do what the child process of a check does in this database, emptied until that is done."""
    findings = Findings()
    with TemporaryDirectory() as folder, no_rows():
        check_bundle(bundle, findings, Path(folder))
    forget_versions()
    report.checks += findings.checks
    report.remarks += findings.remarks
    report.faults += findings.faults
    report.plan_versions = findings.plan_versions
    report.computed = findings.computed


def run_here(source: IO[bytes], folder: Path, *, size: int, task: str = "check") -> str | None:
    """Do what the child process does that makes a copy or a page, as `examine_here`."""
    findings = Findings()
    make = {
        "anonymise": make_copy,
        "copy": copy_bundle,
        "page": lambda bundle, folder: write_pages(bundle, findings, folder),
    }[task]
    try:
        with open_bundle(source) as bundle, no_rows():
            make(bundle, folder)
    except BadBundle as error:
        findings.faults.append(error.fault)
    except IntegrityError as error:
        return f"The check broke off: {error}"
    finally:
        forget_versions()
    faults = [astuple(fault) for fault in findings.faults]
    (folder / "findings.json").write_text(json.dumps({"faults": faults}), encoding="utf-8")
    return None


def read_files(bundle: bytes) -> Files:
    with ZipFile(io.BytesIO(bundle)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def read_rows(bundle: bytes, name: str) -> list[dict[str, Any]]:
    """The rows of a file with one JSON object a line."""
    return [json.loads(line) for line in read_files(bundle)[name].decode().splitlines()]


def zip_files(files: Mapping[str, bytes]) -> bytes:
    target = io.BytesIO()
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return target.getvalue()


def sum_up(files: Mapping[str, bytes]) -> Files:
    """The files with checksums that fit, as somebody would write them who knows how."""
    others = {name: data for name, data in files.items() if name != CHECKSUMS}
    sums = {name: sha256(data).hexdigest() for name, data in others.items()}
    return others | {CHECKSUMS: write_checksums(sums).encode()}


def change(bundle: bytes, name: str, edit: Callable[[Any], Any]) -> bytes:
    """The bundle with another content of this file, and checksums that fit.

    `edit` gets the rows of JSON lines, the content of other JSON, or else the text.
    """
    files = read_files(bundle)
    text = files[name].decode()
    if name.endswith(".jsonl"):
        rows = [json.loads(line) for line in text.split("\n") if line]
        rows = edit(rows) or rows
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    elif name.endswith(".json"):
        content = json.loads(text)
        content = edit(content) or content
        text = json.dumps(content, ensure_ascii=False)
    else:
        text = edit(text)
    return zip_files(sum_up(files | {name: text.encode()}))
