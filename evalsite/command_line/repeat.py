"""evalsite repeat: a draft with the items, texts, design and seed of a bundle."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from django.core.exceptions import ValidationError

from evalsite.command_line.output import NO, Refused, Result
from evalsite.command_line.site import use_site


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("bundle", metavar="BUNDLE", type=Path, help="the bundle of the study to repeat; it is "
        "verified first")  # fmt: skip
    add("--owner", metavar="USER", help="whose draft it will be; default: the only administrator")
    add("--data", type=Path, metavar="DIR", help="the folder of the site")


def run(options: Namespace) -> Result:
    use_site(options.data)
    from django.conf import settings
    from django.urls import reverse

    from evalsite.data.bundle.restore import restore_bundle
    from evalsite.fieldwork.setup import describe_setup
    from evalsite.studies.study_lookup import find_owner

    owner = find_owner(options.owner)
    try:
        with options.bundle.open("rb") as bundle:
            restored = restore_bundle(file=bundle, owner=owner, by="the command line",
                                      has_data=False)  # fmt: skip
    except ValidationError as error:
        raise Refused("\n".join(error.messages), NO) from None
    study = restored.study
    setup = describe_setup(study)
    address = f"{settings.SITE_ADDRESS}{reverse('admin:study-setup', args=[study.pk])}"
    open_points = [check.headline for check in setup.problems]
    cost = setup.cost
    return Result(
        text="\n".join(
            [
                f"“{study.title}” is a draft: {address}",
                *(f"To do before launch: {point}" for point in open_points),
                *([f"Expected cost at its pay: {cost}."] if cost else []),
                *(f"Note: {remark}" for remark in restored.remarks),
            ]
        ),
        facts={
            "study": str(study.pk),
            "address": address,
            "to_do": open_points,
            "cost": cost or None,
            "remarks": restored.remarks,
        },
    )
