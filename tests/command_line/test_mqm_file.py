"""Error spans in the TSV of WMT: read by `evalsite report`, refused where a row can't be right."""

import pytest

from evalsite.command_line.main import run_command
from evalsite.data.tables.bare_ratings import open_bare
from evalsite.data.tables.mqm import COLUMNS, mark_passage, read_segments, write_line
from evalsite.data.tables.table import Limits, Refused
from tests.analysis.vectors import compare, read_data, read_vector
from tests.command_line.test_results import run_json


def write_tsv(path, rows, columns=COLUMNS):
    path.write_text("".join(map(write_line, [columns, *rows])), encoding="utf-8")
    return path


def report(capsys, path):
    code, document = run_json(capsys, "report", path)
    return code, document["report"]["criteria"][0]


def make_rows(segments, errors):
    """The vector's errors as WMT writes them, over texts of the lengths that it names."""
    marked = {key: part for key, part in errors.groupby(["rater", "item", "system"])}
    for number, segment in enumerate(segments.itertuples(), start=1):
        text = ("DerBahnhof" * 20)[: segment.length]
        who = (segment.system, "doc" + segment.item, "1", str(number), segment.rater, "Source.")
        part = marked.get((segment.rater, segment.item, segment.system))
        if part is None:
            yield [*who, text, "No-error", "No-error", "{}"]
            continue
        for error in part.itertuples():
            target = mark_passage(text, error.start, error.end)
            yield [*who, target, error.category, error.severity.capitalize(), "{}"]


def test_penalties_of_a_tsv_are_those_of_the_vector(tmp_path, capsys):
    errors, expected, tolerance = read_vector("spans__spans_errors")
    path = write_tsv(tmp_path / "mqm.tsv", make_rows(read_data("spans_segments.csv"), errors))

    code, criterion = report(capsys, path)

    assert code == 0
    means = {system["system"]: system["headline"]["value"] for system in criterion["systems"]}
    compare(means, expected["mqm"], tolerance)
    counts = {
        figure["group"]["system"]: figure["value"]
        for figure in criterion["spans"]["systems"] if figure["name"] == "errors_per_output"
    }  # fmt: skip
    compare(counts, expected["errors"], tolerance)
    for group, name in (({}, "span_f1"), ({"severity": "major"}, "span_f1_major")):
        figures = {
            figure["name"]: figure for figure in criterion["spans"]["agreement"]
            if figure.get("group", {}) == group
        }  # fmt: skip
        assert figures["character_f1"]["value"] == pytest.approx(expected[name]["f1"], abs=1e-9)
        pooled = figures["character_f1_pooled"]["value"]
        assert pooled == pytest.approx(expected[name]["f1_pooled"], abs=1e-9)
    # fewer is better
    assert [system["system"] for system in criterion["systems"]] == ["C", "B", "A"]
    # and a gate reads it, too
    difference = means["C"] - means["A"]
    options = ["--system", "C", "--against", "A", "--margin", abs(difference)]
    _, document = run_json(capsys, "gate", path, *options)
    # how much better C is than A
    assert document["gate"]["test"]["difference"] == pytest.approx(-difference)


ROW = {"system": "A", "doc": "d", "docSegId": "1", "globalSegId": "1", "rater": "r1",
       "source": "Half past seven.", "target": "<v>Halb</v> acht.",
       "category": "Accuracy/Mistranslation", "severity": "Major", "metadata": "{}"}  # fmt: skip
CLEAN = {"target": "Halb acht.", "category": "No-error", "severity": "No-error"}


def read(tmp_path, capsys, *changes):
    rows = [[(ROW | change)[name] for name in COLUMNS] for change in changes]
    code = run_command(["report", str(write_tsv(tmp_path / "mqm.tsv", rows)), "--json"])
    printed = capsys.readouterr()
    return code, printed.out + printed.err


@pytest.mark.parametrize(
    ("changes", "code", "place"),
    [
        ([{"target": "<v>Halb acht."}], "passage_unbalanced", "line 2 (record 1)"),
        ([{"target": "Halb</v> acht."}], "passage_unbalanced", "line 2 (record 1)"),
        ([{"target": "<v>Halb <v>acht</v></v>."}], "passage_unbalanced", "line 2 (record 1)"),
        ([{"target": "<v>Halb</v> <v>acht</v>."}], "passage_twice", "line 2 (record 1)"),
        ([{"source": "<v>Half</v> past seven."}], "passage_twice", "line 2 (record 1)"),
        ([{}, {"severity": "critical"}], "severity_unknown", "line 3 (record 2)"),
        ([{}, {"rater": "r2", "target": "<v>Um</v> halb acht."}], "texts_differ", "line 3"),
        ([{}, {"system": "B", "source": "Seven thirty."}], "texts_differ", "line 3"),
        ([{}, CLEAN], "no_error_beside", "line 3"),
        ([CLEAN, {}], "no_error_beside", "line 3"),
        ([CLEAN, CLEAN], "no_error_beside", "line 3"),
        ([CLEAN | {"target": "<v>Halb</v> acht."}], "no_error_beside", "line 2"),
        ([{"rater": ""}], "cell_empty", "line 2"),
        ([{"system": ""}], "cell_empty", "line 2"),
    ],
)  # fmt: skip
def test_a_row_that_cant_be_right_is_named(tmp_path, changes, code, place):
    rows = [[(ROW | change)[name] for name in COLUMNS] for change in changes]
    path = write_tsv(tmp_path / "mqm.tsv", rows)

    with path.open("rb") as source:
        table = open_bare(source, file_name=path.name, limits=Limits())
        with pytest.raises(Refused) as refused:
            read_segments(table)

    assert refused.value.code == code
    assert place in refused.value.fault.place


def open_segments(tmp_path, *changes, columns=COLUMNS, names=COLUMNS):
    rows = [[(ROW | change).get(name, "") for name in names] for change in changes]
    path = write_tsv(tmp_path / "mqm.tsv", rows, columns)
    with path.open("rb") as source:
        return [*read_segments(open_bare(source, file_name=path.name, limits=Limits())).values()]


def test_a_passage_is_where_its_marks_are_in_source_or_target(tmp_path):
    omitted = {"source": "Half <v>past</v> seven.", "target": "Halb acht."}

    (segment,) = open_segments(tmp_path, {}, omitted)

    assert (segment.source, segment.target) == ("Half past seven.", "Halb acht.")
    places = [
        (mark.place, mark.start, mark.end, mark.quote, mark.severity) for mark in segment.passages
    ]
    assert places == [("target", 0, 4, "Halb", "major"), ("source", 5, 9, "past", "major")]


def test_offsets_are_code_points(tmp_path):
    (segment,) = open_segments(tmp_path, {"target": "👩‍🚀 e\u0301 <v>שלום</v>."})

    assert segment.target[slice(segment.passages[0].start, segment.passages[0].end)] == "שלום"
    assert segment.passages[0].start == len("👩‍🚀 e\u0301 ")


def test_an_error_without_a_passage_counts_and_has_no_place(tmp_path):
    (segment,) = open_segments(tmp_path, {"target": "Halb acht.", "category": "Non-translation!"})

    (mark,) = segment.passages
    assert (mark.start, mark.end, mark.quote) == (10, 10, "")


def test_files_before_2022_have_other_names_for_columns(tmp_path):
    columns = ("system", "doc", "doc_id", "seg_id", *COLUMNS[4:9], "comment")

    (segment,) = open_segments(tmp_path, {"metadata": "wrong hour"}, columns=columns)

    assert (segment.item, segment.passages[0].note) == ("d:1", "wrong hour")


def test_rows_of_metadata_alone_are_no_answers(tmp_path):
    nobody = {"rater": "", "category": "", "severity": "", "target": "Halb acht."}

    segments = open_segments(tmp_path, nobody, {"metadata": '{"note": "an hour late"}'})

    assert [segment.passages[0].note for segment in segments] == ["an hour late"]


def test_a_faulty_file_ends_the_command_with_its_place(tmp_path, capsys):
    code, printed = read(tmp_path, capsys, {}, {"severity": "critical"})

    assert code != 0
    assert "line 3 (record 2)" in printed
