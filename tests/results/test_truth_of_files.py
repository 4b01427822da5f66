"""What leaves the site says the same everywhere: README, report, datasheet and names of files."""

import io
import re
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from evalsite.data.bundle.format import Contents
from evalsite.data.bundle.job import name_bundle
from evalsite.data.bundle.public import PageOptions, write_public_page
from evalsite.data.files.columns import list_downloads_of
from evalsite.data.files.services import Choice, count_file, name_file
from evalsite.decisions.applying_rules import apply_rules, find_matches
from evalsite.decisions.exclusion_rules import list_conditions
from evalsite.decisions.exclusions import exclude
from evalsite.decisions.frozen_plans import plan_of, reveal_results
from evalsite.decisions.models import AnalysisPlan, Exclusion
from evalsite.fieldwork.simulation import simulate_crowd
from evalsite.handout.models import Annotation, Rating, Slot
from evalsite.lib.clock import now, standing_at
from evalsite.people.models import Participant
from evalsite.results.analysis_plan.stored import change_plan, mark_plan
from evalsite.results.document.blocks import list_figures
from evalsite.results.document.text import render_text
from evalsite.results.documents.datasheet import make_datasheet
from evalsite.results.report.computation import compute_report
from evalsite.results.report.files import read_document, write_page
from evalsite.studies.models import Study
from tests.support.batches import import_rows, make_rows
from tests.support.bundles import check, close, pack, read_files
from tests.support.exports import export, read
from tests.support.factories import launch, make_user
from tests.support.instruments import make_built_study, read_instrument
from tests.support.planned import ONE_POINT, add_person, make_planned_study

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.slow,
    pytest.mark.usefixtures("checks_here"),
]
COMMENT = "The second text repeats itself"
RULE = "One point in over 80% of at least 2 answers"
# what every document says of the plan and what became of it, word for word
SAID = (
    "Hypotheses: on Informativeness, neural is better than baseline",
    "Primary criterion: Informativeness",
    RULE,
    "Frozen: 1 March 2026 at 09:00 UTC, SHA-256 {sha256}",
    "Planned: 15 answers to 3 items",
    "Results were viewed on 2 March 2026 at 10:30 UTC, with {answers} of 15 answers in. "
    "Reason: A referee asked.",
    "The plan was changed on 3 March 2026 at 11:45 UTC (version 2), with {answers} answers in: "
    "Too strict.",
    "An exclusion on 4 March 2026 at 12:15 UTC followed no rule: Slept",
    f"“{RULE}” (1 decision",
    "“Slept” (1 decision",
)


def at(day: int, hour: int, minute: int) -> Any:
    return standing_at(datetime(2026, 3, day, hour, minute, tzinfo=UTC))


def make_eventful_study(*, has_simulated_people: bool) -> Study:
    """A study with a plan, a simulated pilot, comments, a rule that was applied, and deviations."""
    by = make_user()
    with at(1, 9, 0):
        study = make_planned_study(rules=[ONE_POINT], by=by, title="Weather")
        # as if it had been written before the launch
        hypothesis = {
            "criterion": "informativeness", "system": "neural", "relation": "better",
            "other": "baseline",
        }  # fmt: skip
        AnalysisPlan.objects.filter(study=study).update(hypotheses=[hypothesis])
        add_person(study, status="pilot", origin="simulated")
        Participant.objects.filter(study=study).update(is_pilot=True, origin="simulated")
        slept, *_, odd = (
            add_person(study),
            add_person(study),
            add_person(study),
            add_person(study, 5),
        )
        if has_simulated_people:
            simulated = add_person(study, origin="simulated")
            Participant.objects.filter(pk=simulated.pk).update(origin="simulated")
        Annotation.objects.filter(participant=odd).update(note=COMMENT)
        settle(study)
    with at(2, 10, 30):
        reveal_results(study=study, by=by, reason="A referee asked")
    with at(3, 11, 45):
        seen = mark_plan(plan_of(study), list_conditions(study))
        change_plan(study=study, values={"smallest": 3.0}, seen=seen, by=by, reason="Too strict")
    with at(4, 12, 15):
        apply_rules(study=study, by=by, seen=find_matches(study).mark)
        exclude(study=study, participants=[slept], reason="Slept", by=by)
        # the database's own clock isn't stopped
        Exclusion.objects.filter(study=study).update(decided_at=now())
    return study


def settle(study: Study) -> None:
    """Put answers into the places that the launch made, as they were typed."""
    for item in study.items.main():  # type: ignore[attr-defined]
        extra = item.slots.filter(participant__isnull=False)
        planned = list(item.slots.filter(participant__isnull=True).order_by("no"))
        for slot, answer in zip(planned, item.annotations.filter(status="counted"), strict=False):
            old, answer.slot = answer.slot_id, slot
            answer.save(update_fields=["slot"])
            Slot.objects.filter(pk=old).delete()
            slot.participant, slot.state = answer.participant, Slot.State.DONE
            slot.save()
        assert set(extra) <= set(planned)
    for rating in Rating.objects.filter(study=study):
        rating.text = str(rating.value)
        rating.save(update_fields=["text"])


def read_words(document: str) -> str:
    """The words of a document in one line, without the signs of its format."""
    named = re.sub(r"</?bdi>", "", document)
    named = re.sub(r"</dt>|</th>", ": ", named)
    named = re.sub(r"^\| ([^|]+) \| ", r"\1: ", named, flags=re.M)
    plain = unescape(re.sub(r"<[^>]+>", " ", named)).replace("**", "").replace("`", "")
    return " ".join(plain.split())


def find_number(pattern: str, words: str) -> int:
    found = re.search(pattern, words)
    assert found, (pattern, words)
    return int(found[1].replace(",", ""))


@pytest.mark.one_case
@pytest.mark.parametrize("has_simulated_people", [False, True])
def test_readme_report_datasheet_and_names_agree(has_simulated_people: bool) -> None:
    study = make_eventful_study(has_simulated_people=has_simulated_people)
    report = compute_report(study)
    bundle = pack(study)
    files = read_files(bundle)
    documents = {
        "README": files["README.md"].decode(),
        "report": write_page(study, report),
        "datasheet": render_text(make_datasheet(study, report)),
    }
    words = {name: read_words(text) for name, text in documents.items()}

    people = 5 if has_simulated_people else 4
    known = {
        "sha256": study.plan_versions.get(number=1).commitment[:12],
        "answers": 3 * people,
    }
    for name, text in words.items():
        for sentence in SAID:
            assert sentence.format(**known) in text, (name, sentence)
        assert "no rule was written down" not in text
    checked = check(bundle)
    # what the loaded study says in its README, word for word
    assert (checked.faults, checked.remarks) == ([], [])

    # counts: of all answers in the README, of those analysed in the others
    answers, ratings = read(files["data/annotations.csv"]), read(files["data/ratings.csv"])
    kept = [row for row in ratings if row["excluded"] == "no"]
    assert len(answers) == 3 * people
    assert len(kept) == 9 * (people - 2)
    assert find_number(r"([\d,]+) ratings in [\d,]+ annotations", words["datasheet"]) == len(kept)
    assert find_number(r"([\d,]+) ratings", words["report"]) == len(kept)
    assert find_number(r"([\d,]+) annotations excluded", words["datasheet"]) == 6
    assert find_number(r"([\d,]+) used", words["report"]) == len(answers) - 6

    # one word, and in names only where rows are simulated
    names = {name: name_file(study, Choice(file=name)) for name in list_downloads_of(study)}
    names |= {"bundle": name_bundle(study, Contents())}
    has_word = {name for name, text in words.items() if re.search(r"\bsimulated\b", text, re.I)}
    named = {name for name, text in names.items() if "simulated" in text}
    origins = {row["origin"] for row in (*answers, *read(files["data/participants.csv"]))}
    if not has_simulated_people:
        assert (has_word, named, origins) == (set(), set(), {"own"})
        return
    assert origins == {"own", "simulated"}
    assert has_word == set(documents)
    assert named == names.keys() - {"items", "metrics", "comments"}
    assert "3 of 15 annotations are simulated" in words["README"]
    assert find_number(r"([\d,]+) simulated, which", words["datasheet"]) == 9
    assert find_number(r"([\d,]+) of [\d,]+ ratings are simulated", words["report"]) == 9


@pytest.mark.torture
def test_table_of_outputs_has_the_numbers_of_items_last() -> None:
    study = make_eventful_study(has_simulated_people=False)

    table = read(compute_report(study).outputs.read_bytes())

    numbers = {
        row["item"]: (row["item_no"], row["group_no"]) for row in read(export(study, "items"))
    }
    assert list(table[0])[-2:] == ["item_no", "group_no"]
    assert len(table) == 9
    for row in table:
        assert (row["item_no"], row["group_no"]) == numbers[row["item"]]


@pytest.mark.one_case
@pytest.mark.parametrize("has_free_text", [False, True])
def test_readme_says_whether_comments_are_in_it_and_where(has_free_text: bool) -> None:
    study = make_eventful_study(has_simulated_people=False)

    files = read_files(pack(study, has_free_text=has_free_text))

    having = {name for name, content in files.items() if COMMENT.encode() in content}
    assert having == (
        {"data/annotations.csv", "records/annotations.jsonl"} if has_free_text else set()
    )
    readme = read_words(files["README.md"].decode())
    assert ("in note and records/" in readme) is has_free_text
    assert ("in their own words was left out" in readme) is not has_free_text


def make_commented_study() -> Study:
    """A closed study of simulated people, some of whom commented on a question."""
    content = read_instrument("summarize_feedback")
    study = make_built_study(content, is_demo=True, k=3)
    import_rows(study, make_rows(study.config, items=4))
    study = launch(study)
    list(simulate_crowd(study, participants=3, seed="comments"))
    return close(study)


@pytest.mark.one_case
def test_comments_are_counted_alike_in_report_readme_public_page_and_file(tmp_path: Path) -> None:
    study = make_commented_study()
    report = compute_report(study)
    written = Rating.objects.filter(study=study, part="comment", annotation__status="counted")
    comments = written.count()
    people = written.values("annotation__participant").distinct().count()
    assert 3 < comments < Rating.objects.filter(study=study, part="comment").count()

    bundle = pack(study, has_free_text=True)
    options = PageOptions(has_outputs=True, has_comments=True)
    write_public_page(io.BytesIO(bundle), options, tmp_path / "page")

    # every count of the report, and where it is printed
    figures = {
        (figure.name, *dict(figure.group).values()): figure.value
        for block in read_document(study, report).blocks
        for figure in list_figures(block)
    }
    assert figures["comments", "overall"] == comments
    assert figures["people_commenting",] == people
    documents = {
        "report": write_page(study, report),
        "README": read_files(bundle)["README.md"].decode(),
        "page": (tmp_path / "page" / "report.html").read_text(),
    }
    for name, text in documents.items():
        words = read_words(text)
        assert find_number(r"([\d,]+) comments on questions", words) == comments, name
        assert find_number(r"on questions by ([\d,]+) people", words) == people, name
        assert re.search(r"\bsimulated\b", words, re.I), name
    # every row of the files
    assert check(bundle).faults == []
    rows = read(export(study, "comments"))
    assert {row["criterion"] for row in rows} == {"overall"}
    assert len(rows) == count_file(study, Choice(file="comments")) == comments
    assert len({row["participant"] for row in rows}) == people
    name = name_file(study, Choice(file="comments"))
    assert name.endswith("_simulated_comments.csv")
    assert read((tmp_path / "page" / "data" / name).read_bytes()) == rows
