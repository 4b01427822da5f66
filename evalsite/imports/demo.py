"""Demo studies: one for each protocol, made from its example batch and filled by a crowd."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from typing import Any

from django.core.exceptions import ValidationError
from django.db import DatabaseError, transaction
from django.template import TemplateDoesNotExist, TemplateSyntaxError

from evalsite.annotation.running.launch import launch_study
from evalsite.annotation.running.simulation import SETS_A_PERSON, simulate_crowd
from evalsite.imports.batches.importer import import_file
from evalsite.jobs.models import Job
from evalsite.jobs.services import run_job
from evalsite.participants.models import Origin, Participant
from evalsite.protocol import Protocol, find_folder, installed_folders
from evalsite.studies.models import Batch, Study
from evalsite.studies.services import create_study

SEED = "demo"
_SHARE_DONE = 0.65
_MOST_TOLD = 3  # faults of a batch
# what mistakes in the folder of a protocol raise: in its code, its files or its templates
_MISTAKES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    DatabaseError,
    LookupError,  # a protocol that is no longer installed, too
    NameError,
    OSError,
    RuntimeError,
    TemplateDoesNotExist,
    TemplateSyntaxError,
    TypeError,
    ValidationError,
    ValueError,
)

_CONSENT = """\
**What this is for.** This is a demonstration of Evalsite. It compares computer programs that \
write short texts.

**What we keep.** Your answers, when you gave them, and how long you took, on this computer only. \
Nothing that names you is kept.

**Your rights.** You may stop at any time without giving a reason, and you may have your answers \
deleted: choose “Withdraw” on any page.

**Pay.** Nothing is paid: this is a demonstration.

**Questions.** Write to the person who runs this copy of Evalsite."""


@dataclass(frozen=True)
class FailedDemo:
    """A demo that couldn't be made or filled: the name of its protocol, and the reason."""

    protocol: str
    reason: str


def make_demo_studies(*, by: Any) -> tuple[list[Study], list[FailedDemo]]:
    """Make a live demo of each installed protocol that has none; return all demos and failures."""
    studies: list[Study] = []
    failures: list[FailedDemo] = []
    for folder in installed_folders().values():
        launched = Study.objects.filter(is_demo=True, launched_at__isnull=False)
        if study := launched.filter(protocol=folder.label).first():
            studies.append(study)
            continue
        with collect_failure(folder.label, failures):
            studies.append(make_demo_study(folder.instrument, by=by))
    return studies, failures


@contextmanager
def collect_failure(protocol: str, failures: list[FailedDemo]) -> Iterator[None]:
    """Add to `failures` what a mistake in this protocol prevents, and go on after it."""
    try:
        yield
    except ValidationError as error:
        failures.append(FailedDemo(protocol, " ".join(error.messages[:_MOST_TOLD])))
    except _MISTAKES as error:
        failures.append(FailedDemo(protocol, f"{type(error).__name__}: {error}"))


@transaction.atomic
def make_demo_study(config: Protocol, *, by: Any) -> Study:
    """Make and launch a study of the protocol's example batch, or leave nothing behind."""
    study = create_study(
        protocol=config.key,
        by=by,
        is_demo=True,
        **{
            "title": str(config.title),
            "summary": str(config.summary),
            **find_folder(config.key).demo_texts,
            "organisation": "Evalsite demo",
            "contact_name": "whoever runs this copy of Evalsite",
            "contact_email": "demo@example.org",
            "consent": _CONSENT,
        },
    )
    import_example(study, by=by)
    job = run_job(launch_study(study=study, by=by))
    if job.state != Job.State.DONE:
        raise ValidationError(job.message)
    study.refresh_from_db()
    return study


def import_example(study: Study, *, by: Any) -> Batch:
    """Import the example batch of the study's protocol."""
    return import_file(study=study, path=find_folder(study.protocol).example_batch, by=by)


def add_demo_crowds() -> tuple[list[tuple[Study, int]], list[FailedDemo]]:
    """Fill each live demo; return how many people came to it now, and failures."""
    filled: list[tuple[Study, int]] = []
    failures: list[FailedDemo] = []
    for study in Study.objects.filter(is_demo=True, state=Study.State.LIVE):
        with collect_failure(study.protocol, failures):
            filled.append((study, add_demo_crowd(study)))
    return filled, failures


def add_demo_crowd(study: Study) -> int:
    """About two thirds of the answers are there, simulated; returns how many people came now."""
    came = Participant.objects.filter(study=study, origin=Origin.SIMULATED).count()
    sets = study.items.main().count() * study.k / study.set_size
    people = max(study.k, ceil(_SHARE_DONE * sets / SETS_A_PERSON))
    return sum(1 for _ in simulate_crowd(study, participants=people, seed=SEED, skip=came))
