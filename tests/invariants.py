"""What must hold of every study's rows at every moment (reliability.md sections 1 and 2)."""

from django.db.models import Count, F

from evalsite.annotation.display import question_names
from evalsite.annotation.models import Annotation, Rating, Slot
from evalsite.studies.gold import asked_criteria
from evalsite.studies.models import Item, Study


def find_breaches(study: Study) -> list[str]:
    """Every promise about counts that these rows break, in words; none is the only good answer."""
    return [
        *_about_slots(study),
        *_about_annotations(study),
        *_about_ratings(study),
    ]


def check_invariants(study: Study) -> None:
    """AssertionError with every breach, if there is one."""
    breaches = find_breaches(study)
    assert not breaches, "\n".join(breaches)


def _about_slots(study: Study) -> list[str]:
    slots = Slot.objects.filter(study=study)
    holding = Annotation.objects.filter(study=study, slot__isnull=False).order_by()
    held = holding.values("slot").annotate(n=Count("pk"))
    done = set(slots.done().values_list("pk", flat=True))
    named = {row["slot"] for row in held}
    people = slots.filter(participant__isnull=False).values("participant", "item")
    return [
        *(f"slot {pk} is done, but no annotation has it" for pk in done - named),
        *(f"slot {pk} has an annotation, but is not done" for pk in named - done),
        *(f"slot {row['slot']} has {row['n']} annotations" for row in held if row["n"] > 1),
        *(
            f"participant {row['participant']} has {row['n']} slots of item {row['item']}"
            for row in people.annotate(n=Count("pk")).filter(n__gt=1)
        ),
    ]


def _about_annotations(study: Study) -> list[str]:
    annotations = Annotation.objects.filter(study=study).order_by()
    counted = annotations.counted()
    per_item = counted.values("item").annotate(n=Count("pk")).filter(n__gt=study.k)
    per_person = annotations.values("participant", "item").annotate(n=Count("pk")).filter(n__gt=1)
    strangers = counted.exclude(slot__participant=F("participant"))
    elsewhere = counted.exclude(slot__item=F("item"))
    return [
        *(f"item {row['item']} has {row['n']} counted annotations" for row in per_item),
        *(f"participant {row['participant']} answered {row['item']} twice" for row in per_person),
        *(f"annotation {one.pk} counts in another person's slot" for one in strangers),
        *(f"annotation {one.pk} counts in another item's slot" for one in elsewhere),
        *(f"annotation {one.pk} counts without a slot" for one in counted.filter(slot=None)),
    ]


def _about_ratings(study: Study) -> list[str]:
    rated = Annotation.objects.filter(study=study, outcome=Annotation.Outcome.RATED).exclude(
        status=Annotation.Status.WITHDRAWN
    )
    found = rated.annotate(
        ratings_found=Count("ratings", distinct=True),
        outputs_found=Count("item__outputs", distinct=True),
    )
    wanted = {one.pk: _count_questions(one) for one in found.select_related("study", "item")}
    foreign = Rating.objects.filter(study=study, output__isnull=False).exclude(
        output__item=F("annotation__item")
    )
    return [
        *(
            f"annotation {one.pk} has {one.ratings_found} ratings, not {wanted[one.pk]}"
            for one in found
            if one.ratings_found != wanted[one.pk]
        ),
        *(f"rating {one.pk} is of another item's output" for one in foreign),
    ]


def _count_questions(annotation: Annotation) -> int:
    """How many ratings this annotation must have: of a practice item, one for each with gold."""
    config, item = annotation.study.config, annotation.item
    is_practice = item.kind == Item.Kind.PRACTICE
    criteria = asked_criteria(config, item.gold) if is_practice else None
    return len(question_names(config, annotation.outputs_found, criteria))
