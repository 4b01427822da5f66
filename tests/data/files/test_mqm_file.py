"""mqm.tsv: errors as WMT publishes them, which `evalsite report` and other programs read."""

import io
import json

import pytest
from django.urls import reverse

from evalsite.data.files.mqm_rows import _name_parts
from evalsite.data.files.services import Choice, count_rows, write_file
from evalsite.decisions.exclusions import exclude
from tests.analysis.vectors import compare, read_vector
from tests.command_line.test_results import run_json
from tests.support.bundles import pack, read_files
from tests.support.factories import make_annotator
from tests.support.spans import SOURCE, answer_spans, answer_vector, make_spans_study, make_text

pytestmark = pytest.mark.django_db
HEADER = "system\tdoc\tdocSegId\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\tmetadata"
MARKS = [
    {"start": 3, "end": 10, "category": "style", "severity": "major", "note": "tab\there"},
    {"start": 4, "end": 11, "category": "accuracy", "severity": "minor", "column": "source"},
]


def write(study, **chosen):
    target = io.BytesIO()
    written = write_file(study, Choice(file="mqm", **chosen), target)
    head, *lines = target.getvalue().decode().removesuffix("\n").split("\n")
    assert head == HEADER
    assert written.rows == len(lines)
    return [line.split("\t") for line in lines]


def test_an_error_is_a_row_with_its_passage_in_source_or_target():
    study = make_spans_study(items=1, systems="DE")
    me = make_annotator(study)
    answer_spans(me, study.items.get(key="i01/D"), MARKS)
    answer_spans(me, study.items.get(key="i01/E"), [])

    rows = write(study)

    text = make_text(80)
    assert [row[:9] for row in rows] == [
        ["D", "i01", "1", "1", me.pseudonym, SOURCE, f"{text[:3]}<v>{text[3:10]}</v>{text[10:]}",
         "Errors/Style", "Major"],
        ["D", "i01", "1", "1", me.pseudonym, f"{SOURCE[:4]}<v>station</v>{SOURCE[11:]}", text,
         "Errors/Accuracy", "Minor"],
        ["E", "i01", "1", "1", me.pseudonym, SOURCE, text, "No-error", "No-error"],
    ]  # fmt: skip
    metadata = [json.loads(row[9]) for row in rows]
    assert [sorted(known) for known in metadata] == [
        ["note", "timestamp"], ["timestamp"], ["timestamp"],
    ]  # fmt: skip
    assert metadata[0]["note"] == "tab\there"
    assert count_rows(study)["mqm"] == 3


def test_severities_have_their_names_where_people_saw_a_translation():
    described = {
        "severities": [
            {"key": "minor", "label": "Leicht"}, {"key": "major", "label": "Schwer"},
            {"key": "critical", "label": "Kritisch"},
        ],
    }  # fmt: skip
    _, severities = _name_parts(described)
    assert severities["minor"] == "Minor"
    assert severities["major"] == "Major"
    assert severities["critical"] == "Kritisch"


def test_what_ends_a_cell_or_a_line_in_other_files_is_a_space_here():
    study = make_spans_study(items=1, systems="D")
    item = study.items.get()
    item.outputs.update(text='a\tb\r\n"c"')
    answer_spans(make_annotator(study), item, [MARKS[0] | {"start": 2, "end": 5}])

    (row,) = write(study)

    assert row[6] == 'a <v>b  </v>"c"'


def test_excluded_answers_are_left_out_since_no_column_could_say_so():
    study = make_spans_study(items=1, systems="D")
    first, second = make_annotator(study), make_annotator(study)
    for person in (first, second):
        answer_spans(person, study.items.get(), [])
    exclude(study=study, participants=[first], reason="test", by=None)

    assert [row[4] for row in write(study)] == [second.pseudonym]


def test_a_report_of_the_file_has_the_penalties_of_the_study(tmp_path, capsys):
    _, expected, tolerance = read_vector("spans__spans_errors")
    study = make_spans_study()
    answer_vector(study)
    path = tmp_path / "mqm.tsv"
    with path.open("w+b") as file:
        write_file(study, Choice(file="mqm"), file)

    code, document = run_json(capsys, "report", path)

    assert code == 0
    (criterion,) = document["report"]["criteria"]
    means = {system["system"]: system["headline"]["value"] for system in criterion["systems"]}
    # weights by the names that WMT gives to categories; here “punctuation” is called otherwise
    assert means.keys() == expected["mqm"].keys()
    errors = {
        figure["group"]["system"]: figure["value"] for figure in criterion["spans"]["systems"]
        if figure["name"] == "errors_per_output"
    }  # fmt: skip
    compare(errors, expected["errors"], tolerance)


def test_the_file_is_offered_among_all_files_and_is_in_the_bundle(staff_client, researcher):
    study = make_spans_study(items=1, systems="D", by=researcher)
    answer_spans(make_annotator(study), study.items.get(), MARKS)

    page = staff_client.get(reverse("admin:files-all", args=[study.pk])).text
    sent = staff_client.post(reverse("admin:export-file", args=[study.pk, "mqm"]))
    with_words, without = (
        read_files(pack(study, has_free_text=has_words)) for has_words in (True, False)
    )

    assert "mqm: TSV" in page
    assert sent["Content-Disposition"].endswith('_mqm.tsv"')
    body = b"".join(sent.streaming_content)
    assert body.decode().startswith(HEADER)
    assert with_words["data/mqm.tsv"] == body
    assert b"tab" not in without["data/mqm.tsv"]
    assert b"data/mqm.tsv" in without["README.md"]
