"""Demo studies: one for each protocol and one of an instrument without code, with a crowd."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from math import ceil
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import DatabaseError, transaction
from django.template import TemplateDoesNotExist, TemplateSyntaxError

from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import job_kind, run_job, start_job
from evalsite.data.files.models import FileCounts
from evalsite.data.items.importer import import_file
from evalsite.decisions.models import PeopleFigures
from evalsite.fieldwork.launch import launch_study
from evalsite.fieldwork.simulation import SETS_A_PERSON, simulate_crowd
from evalsite.instruments.installed import find_folder, installed_folders
from evalsite.instruments.schema import Instrument
from evalsite.lib.clock import now, standing_at
from evalsite.lib.limited import read_json
from evalsite.people.models import Origin, Participant
from evalsite.people.recruiting import store_open_link, turn_on
from evalsite.studies.instruments import adopt_instrument, read_file
from evalsite.studies.models import Batch, Study
from evalsite.studies.services import create_study
from evalsite.studies.set_size import mains_per_set

# what all demo studies share; the rest is in the folder of each protocol
FIXTURES = settings.BASE_DIR / "fixtures"
DEMO_FILE = FIXTURES / "demo.json"
KIND = "demo studies"
_MOST_TOLD = 3  # faults of a batch
_AGE = timedelta(days=2)
# so that there is something to compare
_LEAST_CROWD = 2
# sets that stay free beside the crowd, for people who try the demo
SETS_KEPT = 10
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


@dataclass(frozen=True)
class FailedDemo:
    """A demo that couldn't be made or filled: the name of its protocol, and the reason."""

    protocol: str
    reason: str


def read_demo() -> dict[str, Any]:
    """Return the texts and the simulated crowd of all demo studies, from `fixtures/demo.json`."""
    content: dict[str, Any] = read_json(DEMO_FILE.read_bytes())
    return content


def make_demo_studies(*, by: Any) -> tuple[list[Study], list[FailedDemo]]:
    """Make a live demo of each protocol of which this person has none; return all and failures."""
    studies: list[Study] = []
    failures: list[FailedDemo] = []
    demos = Study.objects.filter(
        is_demo=True, launched_at__isnull=False, memberships__user=by, memberships__role="owner"
    )
    # launched before the first of the crowd comes
    with standing_at(now() - _AGE):
        for folder in installed_folders().values():
            with collect_failure(folder.label, failures):
                known = demos.filter(protocol=folder.label).first()
                studies.append(known or make_demo_study(folder.instrument, by=by))
        with collect_failure("instrument", failures):
            built = demos.filter(instrument__isnull=False).first()
            studies.append(built or make_built_demo(by=by))
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
def make_demo_study(config: Instrument, *, by: Any) -> Study:
    """Make and launch a study of the protocol's example batch, or leave nothing behind."""
    study = create_study(
        protocol=config.key,
        by=by,
        is_demo=True,
        **{
            "title": str(config.title),
            "summary": str(config.summary),
            **find_folder(config.key).demo_texts,
            **read_demo()["texts"],
        },
    )
    import_example(study, by=by)
    return _launch(study, by=by)


@transaction.atomic
def make_built_demo(*, by: Any) -> Study:
    """Make and launch a study of an instrument without code, or leave nothing behind."""
    demo = read_demo()
    built = demo["built"]
    content = read_file((FIXTURES / built["instrument"]).read_bytes())
    study = create_study(
        instrument=adopt_instrument(data=content, by=by), by=by, is_demo=True,
        **built["texts"], **built["design"], **demo["texts"],
    )  # fmt: skip
    import_file(study=study, path=FIXTURES / built["batch"], by=by)
    return _launch(study, by=by)


def _launch(study: Study, *, by: Any) -> Study:
    """Launch the study, with as many more answers to an item as the sets for visitors take."""
    more = SETS_KEPT * mains_per_set(study) / study.items.main().count()
    study.k += ceil(more)
    study.save(update_fields=["k"])
    job = run_job(launch_study(study=study, by=by))
    if job.state != Job.State.DONE:
        raise ValidationError(job.message)
    study.refresh_from_db()
    turn_on(recruitment=store_open_link(study), by=by)
    return study


def start_demos(*, by: Any) -> Job:
    """Start making demo studies for this person; there is one job of it at a time."""
    return start_job(KIND, study_id=None, by=by, subject=str(by.pk))


@job_kind(KIND)
def _run_demos(job: Job) -> dict[str, Any]:
    """Make the demo studies, and let simulated people rate them."""
    studies, failures = make_demo_studies(by=job.started_by)
    if not studies:
        raise ValidationError([failure.reason for failure in failures])
    add_demo_crowds()
    return {"studies": len(studies)}


def import_example(study: Study, *, by: Any) -> Batch:
    """Import the example batch of the study's protocol."""
    return import_file(study=study, path=find_folder(study.protocol).example_batch, by=by)


def add_demo_crowds() -> tuple[list[tuple[Study, int]], list[FailedDemo]]:
    """Fill each live demo; return how many people came to it now, and failures."""
    filled: list[tuple[Study, int]] = []
    failures: list[FailedDemo] = []
    for study in Study.objects.filter(is_demo=True, state=Study.State.LIVE):
        with collect_failure(study.protocol, failures):
            people = add_demo_crowd(study)
            filled.append((study, people))
            if people:
                # the worker takes answers that are given in the past for measured and counted
                PeopleFigures.objects.filter(study=study).delete()
                FileCounts.objects.filter(study=study).delete()
    return filled, failures


def add_demo_crowd(study: Study) -> int:
    """Simulate the people who are still missing from a demo; return how many came now."""
    came = Participant.objects.filter(study=study, origin=Origin.SIMULATED).count()
    sets = study.items.main().count() * study.k / mains_per_set(study) - SETS_KEPT
    crowd = read_demo()["crowd"]
    people = max(_LEAST_CROWD, ceil(crowd["share_of_answers"] * sets / SETS_A_PERSON))
    visitors = simulate_crowd(
        study, participants=people, seed=crowd["seed"], skip=came, sets_kept=SETS_KEPT
    )
    return sum(1 for _ in visitors)
