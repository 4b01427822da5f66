"""Scores of automatic metrics from a file: found outputs, plain numbers, all or nothing."""

import io
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from evalsite.core.audit.models import AuditEntry
from evalsite.data.importing import Source
from evalsite.data.items.importer import undo_batch
from evalsite.data.metrics.importer import METRICS, CheckedScores
from evalsite.data.models import MetricFile, MetricScore
from evalsite.studies.models import Item, Study
from tests.support.batches import import_rows, make_rows
from tests.support.checking import check_scores
from tests.support.factories import launch

pytestmark = pytest.mark.django_db

LONG = """\
item,system,metric,value
item-001,baseline,BLEU,0.31
item-001,neural,BLEU,27
item-001,template,BLEU,-1e-3
"""


@pytest.fixture
def study(make_study: Callable[..., Any]) -> Study:
    return make_study(items=2)


def check(study: Study, text: str | bytes) -> CheckedScores:
    data = text if isinstance(text, bytes) else text.encode()
    return check_scores(io.BytesIO(data), study=study)


def store(study: Study, text: str, name: str = "metrics.csv") -> MetricFile:
    checked = check(study, text)
    assert told(checked) == []
    digest = sha256(text.encode()).hexdigest()
    source = Source(study=study, file_name=name, sha256=digest)
    return METRICS.store(checked=checked, source=source, by=None)


def told(checked: CheckedScores) -> list[str]:
    return [str(fault) for fault in checked.faults]


def stored(study: Study) -> dict[tuple[str, str, str], float]:
    scores = MetricScore.objects.filter(file__study=study)
    rows = scores.values_list("output__item__key", "output__system__name", "metric", "value")
    return {(item, system, metric): value for item, system, metric, value in rows}


def test_a_row_for_each_score_is_read(study: Study) -> None:
    store(study, LONG)

    assert stored(study) == {
        ("item-001", "baseline", "BLEU"): 0.31,
        ("item-001", "neural", "BLEU"): 27.0,
        ("item-001", "template", "BLEU"): -0.001,
    }


def test_a_column_for_each_metric_is_read(study: Study) -> None:
    store(study, "Item ID;Model;BLEU;chrF++\nitem-001;neural;0.5;61\nitem-002;neural;.25;\n")

    assert stored(study) == {
        ("item-001", "neural", "BLEU"): 0.5,
        ("item-001", "neural", "chrF++"): 61.0,
        ("item-002", "neural", "BLEU"): 0.25,
    }


def test_json_lines_are_read(study: Study) -> None:
    store(study, '{"item": "item-001", "system": "neural", "metric": "BLEU", "value": 0.5}\n')

    assert stored(study) == {("item-001", "neural", "BLEU"): 0.5}


def test_an_output_may_be_named_by_its_id(study: Study) -> None:
    store(study, "output_id,metric,value\nitem-002#3,BLEU,0.5\n")

    assert stored(study) == {("item-002", "template", "BLEU"): 0.5}


def test_columns_that_say_what_the_item_is_are_no_metrics(study: Study) -> None:
    checked = check(study, "item,system,group,mr,output,BLEU\nitem-001,neural,7,x,12,0.5\n")

    assert told(checked) == []
    assert checked.metrics == ["BLEU"]
    assert "Left out, because they aren't metrics: group, mr, output." in map(str, checked.remarks)


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        ("nan", "“nan” isn't a number. If the metric gave no score, leave the cell empty."),
        ("inf", "“inf” isn't a number. If the metric gave no score, leave the cell empty."),
        ("1_000", "“1_000” isn't a number. Use the digits 0 to 9 and a point"),
        ("１２", "“１２” isn't a number. Use the digits 0 to 9 and a point"),
        ('"0,31"', "“0,31” has a comma. Write a point: 0.31."),
        ("31%", "“31%” is a percentage. Write the number alone."),
        ("1e999", "“1e999” is too large a number."),
        ("0x1A", "“0x1A” isn't a number."),
        ("1 2", "“1 2” isn't a number."),
    ],
)
def test_what_is_no_plain_number_is_a_fault_with_its_place(
    study: Study, cell: str, sentence: str
) -> None:
    checked = check(study, LONG + f"item-002,neural,BLEU,{cell}\n")

    assert len(checked.faults) == 1
    assert told(checked)[0].startswith(f"line 5 (record 4), value: {sentence}")
    assert checked.scores == []


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("item-01,neural,BLEU,1", ("item", "item_unknown")),
        ("item-002,newral,BLEU,1", ("system", "system_unknown")),
        ("item-002,,BLEU,1", ("system", "system_unknown")),
        (",neural,BLEU,1", ("item", "cell_empty")),
        ("item-002,neural,,1", ("value", "metric_invalid")),
        ("item-001,neural,BLEU,1", ("value", "score_twice")),
        ("item-002,neural,bleu,1", ("value", "metric_invalid")),
        ("item-002#4,,BLEU,1", ("item", "item_unknown")),
        ("item-002#1,neural,BLEU,1", ("system", "system_unknown")),
        ("item-002,neural,BLEU", ("", "row_width")),
    ],
)
def test_a_row_that_does_not_fit_is_a_fault_with_its_place(
    study: Study, row: str, fault: tuple[str, str]
) -> None:
    checked = check(study, f"{LONG}{row}\n")

    assert [(one.line, one.record, one.column, one.code) for one in checked.faults] == [
        (5, 4, *fault)
    ]


@pytest.mark.parametrize(
    ("system", "sentence"),
    [
        ("delta", "No output of “d0” is by system “delta”. It has alpha, beta, gamma."),
        ("", "“d0” became 3 items, one for each system. Name one of them, such as d0/1, or"),
    ],
)
def test_an_id_of_several_items_needs_a_system_that_it_has(
    make_study: Callable[..., Any], system: str, sentence: str
) -> None:
    study = make_study(items=0, protocol="fluency")
    rows = make_rows(study.config, items=1, outputs=3)
    import_rows(study, [row | {"item": "d0"} for row in rows])

    faults = told(check(study, f"item,system,metric,value\nd0,{system},BLEU,0.3\n"))

    assert len(faults) == 1
    assert sentence in faults[0]
    assert told(check(study, "item,system,metric,value\nd0,alpha,BLEU,0.3\n")) == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("system,BLEU\nneural,1\n", "column_missing"),
        ("item,system\nitem-001,neural\n", "column_missing"),
        ("item,system,metric\nitem-001,neural,BLEU\n", "column_missing"),
        ("item,system,score\nitem-001,neural,1\n", "column_missing"),
        ("item,system,BLEU,BLEU\nitem-001,neural,1,1\n", "column_duplicate"),
        ("item,system,metric,value\n", "no_rows"),
        ("item,system,metric,value\nitem-001,neural,,\n", "nothing_left"),
    ],
)
def test_a_file_that_is_no_table_of_scores_says_why(study: Study, text: str, code: str) -> None:
    assert code in [fault.code for fault in check(study, text).faults]


def test_columns_of_metrics_are_chosen_by_the_researcher(study: Study) -> None:
    text = "n,sys,judge,length\nitem-001,neural,0.5,12\n"
    mapping = {"n": "item", "sys": "system", "judge": "score_of_this_metric", "length": ""}

    checked = check_scores(io.BytesIO(text.encode()), study=study, mapping=mapping)

    assert checked.faults == []
    assert [(score.metric, score.value) for score in checked.scores] == [("judge", 0.5)]


def read_directions(study: Study) -> dict[str, str]:
    scores = MetricScore.objects.filter(file__study=study)
    return dict(scores.values_list("metric", "better").distinct())


def test_which_scores_of_a_metric_are_better_is_in_a_column(study: Study) -> None:
    rows = ["item-001,neural,TER,0.4,Lower", "item-001,neural,BLEU,0.4,"]
    store(study, "\n".join(["item,system,metric,value,better", *rows]))

    assert read_directions(study) == {"TER": "lower", "BLEU": "higher"}


def test_which_scores_of_a_metric_are_better_is_chosen_for_its_column(study: Study) -> None:
    text = "item,system,TER,BLEU\nitem-001,neural,0.4,0.3\n"
    mapping = {"item": "item", "system": "system", "BLEU": "score_of_this_metric"}
    mapping["TER"] = "score_of_this_metric_lower_is_better"

    checked = check_scores(io.BytesIO(text.encode()), study=study, mapping=mapping)

    assert checked.faults == []
    assert {(score.metric, score.better) for score in checked.scores} == {
        ("TER", "lower"), ("BLEU", "higher")
    }  # fmt: skip


@pytest.mark.parametrize(
    "rows",
    [
        ["item-001,neural,TER,0.4,up"],
        ["item-001,neural,TER,0.4,lower", "item-001,baseline,TER,0.5,higher"],
        # in an earlier file higher scores of BLEU are better
        ["item-002,neural,BLEU,0.4,lower"],
    ],
)
def test_a_metric_has_one_direction_in_all_rows_and_files(study: Study, rows: list[str]) -> None:
    store(study, LONG)

    checked = check(study, "\n".join(["item,system,metric,value,better", *rows]))

    assert [fault.code for fault in checked.faults] == ["better_invalid"]


def test_one_score_a_row_and_one_column_a_metric_are_not_mixed(study: Study) -> None:
    text = "item,system,metric,value,BLEU\nitem-001,neural,chrF,1,2\n"

    checked = check_scores(
        io.BytesIO(text.encode()), study=study, mapping={"BLEU": "score_of_this_metric"}
    )

    assert [fault.code for fault in checked.faults] == ["forms_mixed"]


def test_a_score_that_is_there_is_not_replaced(study: Study) -> None:
    store(study, LONG, name="old.csv")

    checked = check(study, LONG + "item-002,neural,BLEU,1\n")

    assert [(one.line, one.column, one.code) for one in checked.faults] == [
        (2, "value", "score_known")
    ]
    assert "3 scores of BLEU" in checked.faults[0].message


def test_a_metric_is_spelt_as_in_an_earlier_file(study: Study) -> None:
    store(study, LONG)

    checked = check(study, "item,system,bleu\nitem-002,neural,1\n")

    assert "“bleu” differs from “BLEU” that the study has already only in case" in told(checked)[0]


@pytest.mark.both_databases
def test_the_same_file_is_stored_once(study: Study) -> None:
    first = store(study, LONG)

    source = Source(study=study, file_name="b.csv", sha256=first.sha256)
    again = METRICS.store(checked=CheckedScores(), source=source, by=None)

    assert again == first
    assert MetricScore.objects.count() == 3


def test_scores_of_items_outside_results_stay_out(study: Study) -> None:
    Item.objects.filter(key="item-002").update(kind="gold")

    checked = check(study, LONG + "item-002,neural,BLEU,1\n")

    assert len(checked.scores) == 3
    assert [remark.code for remark in checked.remarks] == ["rows_left_out"]


def test_a_file_that_is_taken_back_leaves_only_its_trace(study: Study) -> None:
    file = store(study, LONG)
    store(study, "item,system,chrF\nitem-001,neural,1\n", name="other.csv")

    METRICS.undo(file, by=None)

    assert set(stored(study)) == {("item-001", "neural", "chrF")}
    entries = AuditEntry.objects.filter(study_id=study.pk, action__startswith="metrics")
    assert [(one.action, one.detail["scores"]) for one in entries.order_by("id")] == [
        ("metrics uploaded", 3),
        ("metrics uploaded", 1),
        ("metrics taken back", 3),
    ]


def test_an_archived_study_takes_no_scores(study: Study) -> None:
    launch(study)
    Study.objects.filter(pk=study.pk).update(state="archived")

    with pytest.raises(ValidationError, match="archived"):
        store(study, LONG)


def test_scores_go_with_the_batch_that_is_undone(study: Study) -> None:
    store(study, LONG)

    undo_batch(batch=study.batches.get(), by=None)

    assert not MetricScore.objects.exists()
    assert not MetricFile.objects.exists()
    assert AuditEntry.objects.get(action="batch undone").detail["scores"] == 3


def test_scores_that_went_with_a_batch_come_again_once_their_file_is_taken_back(
    study: Study, add_batch: Callable[..., Any]
) -> None:
    text = LONG + "item-003,neural,BLEU,4\n"
    later = add_batch(study, items=1, first=3)
    file = store(study, text)
    undo_batch(batch=later, by=None)
    add_batch(study, items=1, first=3)

    METRICS.undo(file, by=None)
    store(study, text)

    assert len(stored(study)) == 4


def test_faults_at_one_place_stand_in_one_order(study: Study) -> None:
    for name in ("zeta", "beta", "alpha"):
        store(study, f"item,system,{name}\nitem-001,neural,1\n")

    checked = check(study, "item,system,zeta,beta,alpha\nitem-001,neural,1,1,1\n")

    assert [fault.column for fault in checked.faults] == ["alpha", "beta", "zeta"]


def test_a_file_of_too_many_scores_says_what_to_do(study: Study, settings: Any) -> None:
    settings.UPLOAD_MAX_ROWS = 3

    long = check(study, LONG + "item-002,neural,BLEU,1\n")
    wide = check(study, "item,system,a,b\nitem-001,neural,1,1\nitem-002,neural,1,1\n")

    for checked in (long, wide):
        assert [fault.code for fault in checked.faults] == ["too_many_rows"]
    assert "manage.py import_metrics --no-limit" in told(wide)[0]


@pytest.mark.both_databases
def test_a_file_of_many_metrics_is_stored_whole(study: Study) -> None:
    names = [f"metric {number}" for number in range(180)]
    cells = ",".join(str(number / 7) for number in range(180))
    rows = [
        f"item-00{item},{system},{cells}"
        for item in (1, 2)
        for system in ("baseline", "neural", "template")
    ]

    store(study, "\n".join([f"item,system,{','.join(names)}", *rows]))

    found = MetricScore.objects.filter(metric="metric 176").values_list("value", flat=True)
    assert MetricScore.objects.count() == 1_080
    assert set(found) == {176 / 7}
