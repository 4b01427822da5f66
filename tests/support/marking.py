"""What tests of highlighting share: a study in which passages are marked, and what is marked."""

from typing import Any

from evalsite.handout.models import Annotation
from evalsite.instruments.installed import installed_protocols
from evalsite.instruments.scales.decision import Decision
from evalsite.studies.items import item_keys
from evalsite.studies.models import Batch, Item, Output, Study, System
from tests.support.factories import launch, make_study

TEXT = "Dear guest, thank you for your kind words about our staff. See you soon, dear guest."
# an emoji of five code points, one beyond U+FFFF, and an accent that combines
SIGNS = "Hello 👩‍👩‍👧 and 🙂 in the cafe\u0301: it closes early."
HEBREW = "אורח יקר, תודה על המילים החמות 🙂 על הצוות שלנו."

CONFIG = next(config for config in installed_protocols().values() if config.has_highlight)
ANSWERS = {
    criterion.key: "1" if isinstance(criterion.scale, Decision) else "4"
    for criterion in CONFIG.criteria
}


def make_marking_study(*texts: str, **fields: Any) -> Study:
    """A live study of one batch, with one output for each text, each in a group of its own."""
    study = make_study(protocol=CONFIG.key, items=0, set_size=len(texts), **fields)
    batch = Batch.objects.create(study=study, file_name="b.csv", sha256="0" * 64, rows=len(texts))
    system = System.objects.create(study=study, name="neural")
    for number, text in enumerate(texts, start=1):
        inputs = {column.name: f"Review number {number}." for column in CONFIG.columns}
        keys = item_keys(study, key=f"item-{number}", group=f"group-{number}")
        item = Item.objects.create(study=study, batch=batch, inputs=inputs, **keys)
        Output.objects.create(study=study, item=item, system=system, position=0, text=text)
    return launch(study)


def marked_in(annotation: Annotation) -> list[str]:
    """The quotes of an answer, in order, each of them checked against the text."""
    marks = annotation.ratings.marks().select_related("output").order_by("output_id", "start")
    for mark in marks:
        assert mark.output.text[mark.start : mark.end] == mark.text
    return [mark.text for mark in marks]
