"""A study and its report; what it says is computed once a run, for all tests that read it."""

import json
from typing import Any

from evalsite.data.demo import make_demo_study
from evalsite.decisions.models import Exclusion
from evalsite.fieldwork.simulation import simulate_crowd
from evalsite.handout.models import Annotation
from evalsite.instruments.installed import get_protocol
from evalsite.results.document.blocks import Document, Heading, Quote, Sentence
from evalsite.results.models import Report
from evalsite.results.report.computation import analyse_study
from evalsite.results.report.files import write_charts
from evalsite.studies.models import Study, StudyVersion, System
from evalsite.studies.version_cache import forget_versions
from tests.support.emptying import made_once
from tests.support.factories import make_participant, make_user

# names that would run, break out or vanish where they are not escaped
HOSTILE = (
    "a_b & 100 % {$x^2$} #~--\\input{/etc/passwd}",
    '<script>alert(1)</script><b>"bold" \'</b>',
    "[x] * `c` | Ärger …−1",
)
TITLE = "Hostile </title><script>alert(2)</script> \\end{document} % & _ # **bold**"
REASON = "Slipped & said so <b>"
_ANALYSED: dict[str, Any] = {}


def make_reported_study(protocol: str = "magnitude") -> Study:
    """A launched study with hostile names, and a decision to leave somebody out."""
    if protocol not in _ANALYSED:
        _ANALYSED[protocol] = _analyse_once(protocol)
    study = _make(protocol)
    Exclusion.objects.create(study=study, participant=make_participant(study), reason=REASON)
    _name(study)
    return study


def _make(protocol: str) -> Study:
    study = make_demo_study(get_protocol(protocol), by=make_user())
    for system, name in zip(study.systems.order_by("name"), HOSTILE, strict=False):
        System.objects.filter(pk=system.pk).update(name=name)
    return study


def _analyse_once(protocol: str) -> Any:
    return json.loads(
        made_once(f"report-{protocol}", lambda: json.dumps(_analyse(_make(protocol))).encode())
    )


def _analyse(study: Study) -> Any:
    """What three simulated people say, one answer of one of them excluded."""
    list(simulate_crowd(study, participants=3, seed="report"))
    answer = Annotation.objects.filter(study=study).counted().order_by("pk").first()
    excluded = Exclusion.objects.create(study=study, annotation=answer, reason=REASON)
    analysed = analyse_study(study)
    excluded.delete()
    return analysed


def _name(study: Study) -> None:
    version = StudyVersion.objects.get(pk=study.version_id)
    version.content["texts"]["title"] = TITLE
    version.save()
    forget_versions()


def keep_report(study: Study) -> Report:
    """The report stands in the database, with stand-ins for its drawings."""
    content, digest = _ANALYSED[study.protocol]
    report = Report.objects.create(study=study, fingerprint="0", sha256=digest, content=content)
    write_charts(study, report)
    report.refresh_from_db()  # a copy, which a test may change
    return report


def list_answers(document: Document) -> dict[str, dict[str, str | None]]:
    """What a document of facts says by part and topic; None where it is left open."""
    answers: dict[str, dict[str, str | None]] = {}
    part: dict[str, str | None] = {}
    above = ""
    for block in document.blocks:
        if isinstance(block, Heading):
            above = block.text
            part = answers.setdefault(above, {}) if block.level < 3 else part
        elif isinstance(block, Sentence) and block.kind == "fact":
            part[block.question] = None if block.code == "open" else block.text
        elif isinstance(block, Quote):
            part[above] = block.text
    return answers


def list_open(document: Document) -> list[str]:
    return [
        f"{part}: {topic}"
        for part, topics in list_answers(document).items()
        for topic, answer in topics.items()
        if answer is None
    ]
