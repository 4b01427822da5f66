"""A rating page of any protocol in tests: what it asks, what may be answered, what stands in it."""

from html.parser import HTMLParser
from typing import Any

from django.test import Client

from evalsite.instruments.schema import Instrument
from evalsite.participation.view_models import QuestionView
from evalsite.studies.models import Study
from tests.support.batches import import_rows, make_rows
from tests.support.factories import launch, make_annotator, make_study, mint_link


def make_live(config: Instrument, items: int = 3, **fields: Any) -> Study:
    """A live study of this protocol with so many items, all of them in one set."""
    study = make_study(protocol=config.key, items=0, **{"set_size": 20, "k": 2, **fields})
    import_rows(study, make_rows(config, items))
    return launch(study)


class RatingPage:
    """The first item of somebody who has just pressed Start, in a browser without scripts."""

    def __init__(self, study: Study) -> None:
        self.me = make_annotator(study)
        self.home = mint_link(self.me)
        self.client = Client()
        self.client.post(f"{self.home}start/")
        self.show(self.client.get(self.address))

    @property
    def address(self) -> str:
        return f"{self.home}sets/1/items/1/"

    def show(self, response: Any) -> "RatingPage":
        self.response = response
        return self

    @property
    def html(self) -> str:
        return self.response.content.decode()

    @property
    def questions(self) -> tuple[QuestionView, ...]:
        return self.response.context["item"].questions

    @property
    def errors(self) -> dict[str, str]:
        return dict(self.response.context["errors"])

    @property
    def entered(self) -> dict[str, str]:
        """What stands in the page's controls: boxes, buttons that are pressed, hidden fields."""
        return Entered(self.html).values

    @property
    def answers(self) -> dict[str, str]:
        """A right answer to each question; neighbours get different ones."""
        found = {}
        for number, question in enumerate(self.questions):
            right = right_answers(question)
            found[question.name] = right[number % len(right)]
            if question.criterion.comment:
                found[f"{question.name}.comment"] = f"Said of question {number}."
        return found

    def post(self, answers: dict[str, Any], *, to: str = "") -> Any:
        """What the server says to these answers and to nothing else of the page but its state."""
        sent = {"state": Entered(self.html).values["state"], "go": "next", **answers}
        return self.client.post(to or self.address, sent)


def right_answers(question: QuestionView) -> tuple[str, ...]:
    """What people might answer to this question, each answer once."""
    scale, number = question.scale, question.number
    turns = ([2.0, -2.0, 0.0], [-2.0, 2.0, 0.0], [0.0, 0.0, 0.0], [1.0, -1.0, 1.0])
    # as many as an item may have outputs
    felt = [turn * 4 for turn in turns]
    return tuple(dict.fromkeys(scale.answer_as_bot(one, number) for one in felt))


def wrong_answers(question: QuestionView) -> tuple[str, ...]:
    """What is no answer to this question, each for a reason of its own."""
    hostile = ("<script>", "{{7*7}}", "%s", "\u202e3", "a" * 5000, "None", "true", "on")
    scale = question.criterion.scale
    match scale.kind:
        case "magnitude":
            return ("0", "-5", "1.5", "70.0", "1e3", "1_000", "+7", "007", "NaN", "½", "７０", "٧٠",
                    "1000000", "9" * 5000, *hostile)  # fmt: skip
        case "preference":
            return ("1", "2", "0", "left", "First", " first", "first,second", *hostile)
        case "decision":
            return ("2", "-1", "1.0", "１", " 1", "accept", "reject", "10", *hostile)
    low, high = scale.minimum - 1, scale.maximum + 1
    return (str(low), str(high), "-1", "3.0", "３", "٣", " 3", "03", "+3", "3,4", *hostile)


class Entered(HTMLParser):
    """The values of a page's controls by name, as a browser would send them."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.values: dict[str, str] = {}
        self._box = self._select = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        name = given.get("name", "")
        if tag == "textarea":
            self._box = name
            self.values[name] = ""
        elif tag == "select":
            self._select = name
            self.values.setdefault(name, "")
        elif tag == "option" and "selected" in given:
            self.values[self._select] = given.get("value", "")
        elif tag == "input" and name:
            is_choice = given.get("type") in ("radio", "checkbox")
            if not is_choice or "checked" in given:
                self.values[name] = given.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._box = ""

    def handle_data(self, data: str) -> None:
        if self._box:
            self.values[self._box] += data
