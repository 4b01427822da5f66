"""Demo studies: one for each protocol, made from its example batch and filled by a crowd."""

from hashlib import sha256
from math import ceil
from typing import Any

from evalsite.annotation.launch import launch_study
from evalsite.annotation.simulation import SETS_A_PERSON, simulate_crowd
from evalsite.exchange.batches.checking import check_file
from evalsite.exchange.batches.importing import import_batch
from evalsite.jobs.services import run_job
from evalsite.participants.models import Origin, Participant
from evalsite.protocol import ProtocolConfig, installed_protocols
from evalsite.studies.models import Batch, Study
from evalsite.studies.services import create_study

SEED = "demo"
_SHARE_DONE = 0.65

_CONSENT = """\
**What this is for.** This is a demonstration of Evalsite. It compares computer programs that \
write short texts.

**What we keep.** Your answers, when you gave them, and how long you took, on this computer only. \
Nothing that names you is kept.

**Your rights.** You may stop at any time without giving a reason, and you may have your answers \
deleted: choose “Withdraw” on any page.

**Pay.** Nothing is paid: this is a demonstration.

**Questions.** Write to the person who runs this copy of Evalsite."""


def make_demo_studies(*, by: Any) -> list[Study]:
    """One live demo study for each installed protocol; those that stand already are kept."""
    return [
        Study.objects.filter(is_demo=True, protocol=config.label).first()
        or make_demo_study(config, by=by)
        for config in installed_protocols().values()
    ]


def make_demo_study(config: ProtocolConfig, *, by: Any) -> Study:
    """A live study with the protocol's own example batch, texts and defaults."""
    study = create_study(
        protocol=config.label,
        by=by,
        is_demo=True,
        **{
            "title": str(config.title),
            **config.demo_texts,
            "organisation": "Evalsite demo",
            "contact_name": "whoever runs this copy of Evalsite",
            "contact_email": "demo@example.org",
            "consent": _CONSENT,
        },
    )
    import_example(study, by=by)
    run_job(launch_study(study=study, by=by))
    study.refresh_from_db()
    return study


def import_example(study: Study, *, by: Any) -> Batch:
    """The study has its protocol's example batch."""
    path = study.config.example_batch
    with path.open("rb") as source:
        digest = sha256(source.read()).hexdigest()
        source.seek(0)
        checked = check_file(source, study=study)
    return import_batch(
        study=study,
        checked=checked,
        file_name=path.name,
        sha256=digest,
        by=by,
    )


def add_demo_crowd(study: Study) -> int:
    """About two thirds of the answers are there, simulated; returns how many people came now."""
    came = Participant.objects.filter(study=study, origin=Origin.SIMULATED).count()
    sets = study.items.main().count() * study.k / study.set_size
    people = max(study.k, ceil(_SHARE_DONE * sets / SETS_A_PERSON))
    return sum(1 for _ in simulate_crowd(study, participants=people, seed=SEED, skip=came))
