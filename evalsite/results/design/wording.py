"""The design of a study in words: what was chosen, and what the launch will plan."""

from evalsite.results.design.evenness import find_sizes
from evalsite.results.progress import count_edge
from evalsite.studies.models import Item, Study
from evalsite.studies.set_size import LEAST_DISTANCE
from evalsite.studies.summary_lines import count_of, format_moment, list_of, name_of_instrument


def describe_design(study: Study, groups: int | None = None) -> list[tuple[str, str]]:
    """Return the settings that rule the hand-out of work, each as a name and words."""
    edge = count_edge(study)
    inputs = groups
    if inputs is None:
        inputs = Item.objects.main().filter(study=study).values("group").distinct().count()
    launched = f"launched {format_moment(study.launched_at)}" if study.launched_at else ""
    return [
        ("Protocol", name_of_instrument(study)),
        ("State", ", ".join(filter(None, (study.get_state_display(), launched)))),
        (
            "Items",
            f"{count_of(edge.items, 'item')} of {count_of(inputs, 'input')}, "
            f"{count_of(edge.systems, 'system')}",
        ),
        ("Answers per item", f"{study.k}, each by a different person"),
        ("Set size", count_of(study.set_size, "item")),
        ("A participant gives", _describe_caps(study)),
        ("Items of a group", study.get_groups_display()),
        ("Item order", study.get_item_order_display()),
        ("Checks", _describe_checks(study)),
        ("Hidden repeats", _describe_repeats(study)),
        ("Seed", study.seed),
    ]


def _describe_caps(study: Study) -> str:
    caps = []
    if study.max_sets is not None:
        caps.append(count_of(study.max_sets, "set"))
    if study.max_items is not None:
        caps.append(count_of(study.max_items, "item"))
    return f"at most {list_of(caps)}" if caps else "as much as there is"


def _describe_checks(study: Study) -> str:
    if not study.checks_per_person:
        return "none"
    return f"{count_of(study.checks_per_person, 'gold or attention item')} per person"


def _describe_repeats(study: Study) -> str:
    if not study.repeat_percent:
        return "none"
    return f"{study.repeat_percent}% of the items, at least {LEAST_DISTANCE} items later"


_GROUPS = {
    Study.Groups.FREE: "A participant may meet any items of a group, each item once.",
    Study.Groups.TOGETHER: (
        "The items of a group follow one another in one set, in an order that changes from one "
        "participant to the next."
    ),
    Study.Groups.ONCE: (
        "A participant meets each group once, with one of its systems: a Latin square of groups "
        "and systems."
    ),
}


def promise_design(study: Study) -> list[str]:
    """Return what the launch will plan, in sentences: there is nothing to count before it."""
    sizes = [size for size in find_sizes(study) if size > 1]
    promises = [
        f"Every item gets {count_of(study.k, 'place')}, each for a different person. No one gets "
        "it a second time before everything has been handed out once.",
        _GROUPS[Study.Groups(study.groups)],
    ]
    if sizes:
        where = "on each side" if sizes == [2] else "in each place on the page"
        promises.append(
            f"Over the places of an item, every output is {where} equally often, give or take one."
        )
    promises.append(
        f"All of it is drawn from the seed {study.seed}: the same seed and the same items give "
        "the same plan again."
    )
    return promises
