"""What reports tell of single raters: parts of their own, beside the pool, with flags."""

import csv
from pathlib import Path

import pytest

from evalsite.analysis.report import Settings, count_words, make_reports

RESERVED = {"kind": "likert", "answers": [{"value": one, "label": ""} for one in range(1, 8)],
            "reserved": [3, 5]}  # fmt: skip
MAGNITUDE = {"kind": "magnitude", "answers": []}


def write(path: Path, rows):
    names = dict.fromkeys(name for row in rows for name in row)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(names), restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture
def look(tmp_path: Path):
    """What the report says of raters, of these rows of ratings.csv and of other files."""

    def make(rows, criterion=RESERVED, **files):
        keys = dict.fromkeys(row.get("criterion", "rating") for row in rows)
        paths = {name: write(tmp_path / f"{name}.csv", some) for name, some in files.items()}
        paths["ratings"] = write(tmp_path / "ratings.csv", rows)
        instrument = [criterion | {"key": key, "label": key.capitalize()} for key in keys]
        found = make_reports(paths, Settings(instrument=instrument, seed=3))["kept"]["raters"]
        return found, {row["participant"]: row for row in found["rows"]}

    return make


def rate(values, **known):
    """Ratings of each rater, one for each item, of two systems in turn."""
    return [
        {"participant": rater, "item": f"i{number}", "system": "AB"[number % 2], "value": value}
        | known
        for rater, own in values.items()
        for number, value in enumerate(own)
    ]


def codes_of(row):
    return [flag["code"] for flag in row["flags"]]


def test_reserved_points_are_told_by_rater_and_criterion_beside_the_pool(look):
    rows = rate({"p0": [3, 5, 3, 1], "p1": [1, 2, 6, 5]}, criterion="clear")
    rows += rate({"p0": [1, 1, 1, 3], "p1": [7, 7]}, criterion="short")

    found, raters = look(rows)

    key = "clear: share_reserved"
    assert [raters[name]["figures"][key]["value"] for name in ("p0", "p1")] == [0.75, 0.25]
    assert (found["pool"][key]["value"], found["pool"][key]["n"]) == (0.5, {"ratings": 8})
    other = found["pool"]["short: share_reserved"]
    assert (round(other["value"], 4), other["n"]) == (0.1667, {"ratings": 6})  # 1 of 6
    columns = [one for one in found["columns"] if one["part"] == "reserved"]
    assert [one["criterion"] for one in columns] == ["Clear", "Short"]


def test_scales_without_reserved_points_have_no_such_part(look):
    found, _ = look(rate({"p0": [3, 5], "p1": [1, 2]}), RESERVED | {"reserved": []})

    assert "reserved" not in {one["part"] for one in found["columns"]}
    assert found["pool"] == {}


def test_how_each_rater_uses_magnitudes_is_told(look):
    rows = rate({"p0": [50, 100, 200, 102], "p1": [80, 85, 90, 95]}, standard=100)

    found, raters = look(rows, MAGNITUDE)

    told = {name.partition(": ")[2]: one["value"] for name, one in raters["p0"]["figures"].items()}
    # (50 * 100 * 200 * 102) ** .25; sd of ln 50, 100, 200, 102
    assert round(told["geo_mean"], 3) == 100.496
    assert round(told["sd_log"], 4) == 0.5660
    assert (told["share_of_5s"], told["share_of_10s"]) == (0.75, 0.75)
    assert (told["share_of_standard"], told["ratio"]) == (0.25, 4)
    assert len([one for one in found["columns"] if one["part"] == "magnitude"]) == 6


def test_a_column_in_which_nobody_has_a_value_is_left_out(look):
    rows = [row | {"item": f"{row['participant']}-{row['item']}"}
            for row in rate({"p0": [1, 2, 3], "p1": [4, 5, 7]})]  # fmt: skip

    found, _ = look(rows)

    # nobody rated what another rated too
    names = {one["name"] for one in found["columns"]}
    assert "top_share" in names
    assert "spearman" not in names


def make_texts(words: int, items: int = 10):
    """items.csv: each item with the same input, and an output, of half as many words each."""
    source, output = (" ".join([word] * (words // 2)) for word in ("word", "{0}"))
    return [
        {"item": f"i{number}", "source": source, "output": output.format(number),
         "gold_rating": "1 2 3", "extra": ""}
        for number in range(items)
    ]  # fmt: skip


@pytest.mark.one_case
@pytest.mark.parametrize(("words", "is_flagged"), [(16, False), (80, True)])
def test_a_fast_rater_is_a_speeder_only_with_too_little_time_to_read(look, words, is_flagged):
    values = {name: [1, 2, 3, 4, 5, 6, 7, 2, 4, 6] for name in ("p0", "p1", "p2")}
    rows = [row | {"seconds": 3.5 if row["participant"] == "p0" else 12} for row in rate(values)]

    _, raters = look(rows, items=make_texts(words))

    # 10 words a second: 80 take 8 seconds, and 40 where the input was read before take 4
    assert raters["p0"]["figures"]["share_under_floor"]["value"] == float(is_flagged)
    assert raters["p1"]["figures"]["share_under_floor"]["value"] == 0
    assert ("speeder" in codes_of(raters["p0"])) == is_flagged


def test_without_texts_the_pace_alone_makes_a_speeder_once_for_all_criteria(look):
    values = {name: [1, 2, 3, 4, 5, 6, 7, 2, 4, 6] for name in ("p0", "p1", "p2")}
    rows = [
        row | {"seconds": 3.5 if row["participant"] == "p0" else 12}
        for criterion in ("clear", "short")
        for row in rate(values, criterion=criterion)
    ]

    found, raters = look(rows)

    assert codes_of(raters["p0"]).count("speeder") == 1
    assert "share_under_floor" not in {one["key"] for one in found["columns"]}


def test_an_input_that_was_read_before_needs_no_time_again(look):
    rows = [row | {"seconds": 6, "trial": number}
            for number, row in enumerate(rate({"p0": [1, 2, 3, 4]}))]  # fmt: skip

    _, raters = look(rows, items=make_texts(80))

    # the first page takes 8 seconds, each later one 4
    assert raters["p0"]["figures"]["share_under_floor"]["value"] == 0.25


def test_texts_of_an_item_are_its_inputs_once_and_all_outputs(tmp_path):
    path = write(tmp_path / "items.csv", [
        {"item": "i1", "system": "A", "source": "a b c", "output": "d e", "gold_why": "f g h"},
        {"item": "i1", "system": "B", "source": "a b c", "output": "d", "gold_why": ""},
    ])  # fmt: skip

    assert sorted(count_words(path).words) == [1, 2, 3]


def test_each_rater_s_repeats_are_told(look):
    rows = [row | {"kind": "main"} for row in rate({"p0": [1, 2, 3, 4], "p1": [4, 4, 4, 5]})]
    second = {"p0": [1, 2, 4, 6], "p1": [4, 4, 4, 5]}
    again = [
        row | {"kind": "repeat", "repeat_of": row["item"], "item": f"{row['item']}-again"}
        for row in rate(second)
    ]

    found, raters = look([*rows, *again])

    told = raters["p0"]["figures"]
    assert (told["rating: exact"]["value"], told["rating: exact"]["n"]["answers"]) == (0.5, 4)
    assert told["rating: mean_abs_change"]["value"] == 0.75
    assert raters["p1"]["figures"]["rating: exact"]["value"] == 1
    assert [one["name"] for one in found["columns"]][-2:] == ["exact", "mean_abs_change"]


def test_reported_items_are_counted_and_make_no_flag(look):
    rows = rate({"p0": [1, 2, 3], "p1": [1, 2, 3]})
    annotations = [
        {"participant": rater, "item": f"i{item}", "kind": "main", "status": "counted",
         "outcome": "reported" if (rater, item) == ("p0", 9) else "rated", "gold_agrees": "",
         "excluded": "no"}
        for rater in ("p0", "p1") for item in (0, 1, 2, 9)
    ]  # fmt: skip

    _, raters = look(rows, annotations=annotations)

    told = raters["p0"]["figures"]["reported"]
    assert (told["value"], told["n"]) == (1, {"items": 4})
    assert codes_of(raters["p0"]) == codes_of(raters["p1"])


def prefer(rater, lefts, number):
    """Answers to so many pairs of A and B on sides that change, the first of them for the left."""
    return [
        {"participant": rater, "item": f"i{one}", "system_1": "A", "system_2": "B",
         "preferred": "", "shown_first": "AB"[one % 2],
         "outcome": "1" if (one % 2 == 0) == (one < lefts) else "2"}
        for one in range(number)
    ]  # fmt: skip


def test_who_prefers_the_first_place_whatever_stands_there_is_flagged(look):
    rows = [*prefer("p0", 28, 30), *prefer("p1", 15, 30), *prefer("p2", 16, 30)]

    _, raters = look(rows, {"kind": "preference", "answers": []})

    share = raters["p0"]["figures"]["first_share"]
    assert (round(share["value"], 4), share["n"]["answers"]) == (0.9333, 30)
    assert "one_place" in codes_of(raters["p0"])
    assert "one_place" not in codes_of(raters["p1"])
