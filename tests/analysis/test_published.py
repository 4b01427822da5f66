"""The real data beside the project: published figures, and those of its reference tables."""

import json

import numpy as np
import pandas as pd
import pytest

from evalsite.analysis.agreement import (
    FORMS,
    alpha,
    fleiss,
    icc,
    icc_in_file_order,
    percent_agreement,
)
from evalsite.analysis.behaviour import describe_use
from evalsite.analysis.describe import describe_magnitudes, describe_systems, find_slips
from evalsite.analysis.ratings import Ratings, read_table
from tests.support.published import published_file

LIKERT = "stp2_likert_inf"
JOBS = {
    "stp2_rankME_inf": ("stp2_rankME_inf.csv", "inf"),
    "stp1 inf": ("stp1_rankME.csv", "informativeness"),
    "stp1 nat": ("stp1_rankME.csv", "naturalness"),
    "stp1 qual": ("stp1_rankME.csv", "quality"),
    LIKERT: ("stp2_likert_inf.csv", "informativeness"),
}
# ICC(1,1), (A,1), (C,1), (1,k), (A,k), (C,k), F of the one-way form
CORRELATIONS = {
    ("stp2_rankME_inf", "raw"): (0.5759, 0.5817, 0.6064, 0.8029, 0.8066, 0.8221, 5.074),
    ("stp2_rankME_inf", "ln"): (0.4371, 0.4450, 0.4646, 0.6996, 0.7063, 0.7225, 3.329),
    ("stp1 inf", "raw"): (0.4642, 0.4677, 0.4771, 0.7222, 0.7250, 0.7324, 3.599),
    ("stp1 inf", "ln"): (0.4569, 0.4603, 0.4694, 0.7162, 0.7190, 0.7263, 3.524),
    ("stp1 nat", "raw"): (0.0524, 0.0521, 0.0521, 0.1422, 0.1416, 0.1415, 1.166),
    ("stp1 nat", "ln"): (0.0394, 0.0392, 0.0392, 0.1097, 0.1091, 0.1091, 1.123),
    ("stp1 qual", "raw"): (0.0490, 0.0537, 0.0546, 0.1340, 0.1456, 0.1476, 1.155),
    ("stp1 qual", "ln"): (0.0357, 0.0409, 0.0416, 0.1000, 0.1134, 0.1151, 1.111),
    (LIKERT, "raw"): (0.5290, 0.5311, 0.5381, 0.7712, 0.7726, 0.7776, 4.370),
}
# ordinal, interval, ratio
ALPHAS = {
    "stp2_rankME_inf": (0.5768, 0.5754, 0.4251),
    "stp1 inf": (0.4989, 0.4637, 0.4418),
    "stp1 nat": (0.1064, 0.0523, 0.0415),
    "stp1 qual": (0.0379, 0.0489, 0.0480),
    LIKERT: (0.5988, 0.5285, 0.3852),
}
# by system: mean, median, sd, geometric mean
SYSTEMS = {
    "stp2_rankME_inf": (
        (97.0800, 100, 12.9983, 95.0851),
        (68.6467, 70, 25.4561, 61.7924),
        (97.2967, 100, 8.1373, 96.8636),
    ),
    "stp1 inf": (
        (97.43, 100, 10.2754, 96.8596),
        (81.50, 85, 20.0313, 78.3079),
        (98.55, 100, 5.2985, 98.3828),
    ),
    "stp1 nat": (
        (99.45, 100, 3.4864, 99.3653),
        (99.1833, 100, 4.2002, 99.0660),
        (99.6167, 100, 2.3710, 99.5850),
    ),
    "stp1 qual": (
        (98.4333, 100, 5.0129, 98.2737),
        (93.2667, 100, 16.0162, 91.0123),
        (99.2000, 100, 3.6153, 99.1233),
    ),
    LIKERT: (
        (5.7333, 6, 0.7816, 5.6327),
        (3.9367, 4, 1.6997, 3.4584),
        (5.7767, 6, 0.6283, 5.7301),
    ),
}
NAMES = ("baseline", "sheffield_v2", "slug2slug")


def read_job(job):
    """The ratings of a job in file order: rater, group (the input), system, value."""
    name, criterion = JOBS[job]
    rows = pd.read_csv(published_file(f"rankme/{name}"), dtype={"_worker_id": str})
    if job == LIKERT:
        return pd.DataFrame({"rater": rows._worker_id, "group": rows.mr, "system": rows.team,
                             "value": rows[criterion]})  # fmt: skip
    parts = [
        pd.DataFrame({"rater": rows._worker_id, "group": rows.mr, "system": rows[f"team{n}"],
                      "value": rows[f"{criterion}{n}"], "page": rows.index})
        for n in (1, 2, 3)
    ]  # fmt: skip
    return pd.concat(parts).sort_index(kind="stable").reset_index(drop=True)


def output_of(rows):
    return rows.group + "|" + rows.system


@pytest.mark.parametrize(("job", "transform"), CORRELATIONS)
def test_intraclass_correlations_in_file_order_are_those_of_the_table(job, transform):
    rows = read_job(job)
    value = np.log(rows.value) if transform == "ln" else rows.value

    found = icc_in_file_order(unit=output_of(rows), value=value, transform=transform)

    got = [found[form].value for form in FORMS] + [found["ICC(1,1)"].details["F"]]
    wanted = CORRELATIONS[job, transform]
    assert got[:6] == pytest.approx(wanted[:6], abs=6e-5)
    assert got[6] == pytest.approx(wanted[6], abs=6e-4)
    assert found["ICC(C,k)"].group == (("order", "file"),)


@pytest.mark.parametrize(
    ("job", "published"), [("stp1 nat", 0.1101), ("stp1 qual", 0.1012), ("stp1 inf", 0.7167)]
)
def test_published_one_way_figures_come_from_logarithms_of_score_plus_one(job, published):
    rows = read_job(job)

    found = icc_in_file_order(unit=output_of(rows), value=np.log(rows.value + 1))

    assert found["ICC(1,k)"].value == pytest.approx(published, abs=6e-5)


def test_one_way_forms_need_no_file_order():
    rows = read_job("stp2_rankME_inf").sample(frac=1, random_state=1)

    found = icc(Ratings(unit=output_of(rows), value=rows.value, rater=rows.rater))

    assert found["ICC(1,k)"].value == pytest.approx(0.8029, abs=6e-5)
    assert found["ICC(C,k)"].method == "variance_components"
    assert found["ICC(C,k)"].details["warning"] == "not_crossed"


@pytest.mark.parametrize("job", ALPHAS)
def test_alphas_of_rankme_are_those_of_the_table(job):
    rows = read_job(job)

    got = [alpha(Ratings(unit=output_of(rows), rater=rows.rater, value=rows.value), level).value
           for level in ("ordinal", "interval", "ratio")]  # fmt: skip

    assert got == pytest.approx(ALPHAS[job], abs=6e-5)


@pytest.mark.one_case
@pytest.mark.parametrize("job", SYSTEMS)
def test_systems_of_rankme_are_those_of_the_table(job):
    rows = read_job(job)
    ratings = Ratings(rater=rows.rater, block=rows.group, system=rows.system, value=rows.value)

    plain = {one.system: one.figures for one in describe_systems(ratings)}
    ratios = describe_magnitudes(ratings)

    for name, wanted in zip(NAMES, SYSTEMS[job], strict=True):
        mean = plain[name]["mean"]
        got = (mean.value, plain[name]["median"].value, mean.details["sd"],
               ratios[name]["geo_mean"].value)  # fmt: skip
        assert got == pytest.approx(wanted, abs=6e-5)
        assert mean.n["ratings"] == 300


def test_seven_scores_of_rankme_may_be_slips():
    rows = read_job("stp2_rankME_inf")

    assert find_slips(page=rows.page, logs=np.log(rows.value)).sum() == 7


@pytest.mark.parametrize(("job", "constant"), [("stp1 inf", 1), ("stp1 nat", 8), ("stp1 qual", 6)])
def test_raters_who_gave_one_score_throughout_are_seen(job, constant):
    rows = read_job(job)

    use = describe_use(Ratings(rater=rows.rater, value=rows.value))

    assert len(use) == 16
    assert sum(some["distinct"].value == 1 for some in use.values()) == constant


def test_the_ready_made_file_of_rankme_gives_the_published_figure():
    table = read_table(published_file("rankme/ratings_long.csv")).results()

    found = icc_in_file_order(unit=table.rows.output, value=table.rows.value)

    assert found["ICC(C,k)"].value == pytest.approx(0.8221, abs=6e-5)
    assert len(table) == 900


KINDS = {"correctness": (0.5344, 0.4587, 0.6570), "selection": (0.7155, 0.7813, 0.7836),
         "overall": (0.7218, 0.7983, 0.7969)}  # fmt: skip
# by system: mean, sd, mean rank
STORIES = {
    "bart": {"correctness": (34.837, 30.214, 2.603), "selection": (15.617, 18.452, 2.620),
             "overall": (18.137, 18.782, 2.623)},
    "bart-dpr": {"correctness": (45.397, 31.553, 2.277), "selection": (24.260, 22.957, 2.357),
                 "overall": (27.913, 23.524, 2.350)},
    "human": {"correctness": (94.110, 10.684, 1.120), "selection": (88.767, 17.843, 1.023),
              "overall": (91.260, 12.961, 1.027)},
}  # fmt: skip


@pytest.fixture(scope="module")
def stories():
    rows, means = [], []
    text = published_file("squality/all-responses.jsonl").read_text(encoding="utf-8")
    for story in map(json.loads, text.splitlines()):
        for number, question in story["questions"].items():
            group = f"{story['passage-id']}/{number}"
            for system, response in question.items():
                if system not in STORIES:
                    continue
                means += [(group, system, kind, response["overall"][f"{kind}-rating"])
                          for kind in KINDS]  # fmt: skip
                rows += [
                    (review["worker_id"], group, system, kind, review[f"{kind}-rating"],
                     review[f"{kind}-rank"])
                    for review in response["reviews"] for kind in KINDS
                ]  # fmt: skip
    columns = ["rater", "group", "system", "criterion", "value", "rank"]
    return pd.DataFrame(rows, columns=columns), means


def test_all_900_means_of_squality_are_those_of_the_file(stories):
    rows, means = stories
    got = rows.groupby(["group", "system", "criterion"]).value.mean()

    assert len(means) == 900
    for group, system, kind, wanted in means:
        assert got[group, system, kind] == pytest.approx(wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_alphas_and_means_of_squality_are_those_of_the_table(stories, kind):
    rows = stories[0][stories[0].criterion == kind]
    known = {"unit": output_of(rows), "rater": rows.rater}

    got = (alpha(Ratings(value=rows.value, **known), "ordinal").value,
           alpha(Ratings(value=rows.value, **known), "interval").value,
           alpha(Ratings(value=rows["rank"], **known), "ordinal").value)  # fmt: skip
    described = describe_systems(
        Ratings(rater=rows.rater, block=rows.group, system=rows.system, value=rows.value)
    )

    assert got == pytest.approx(KINDS[kind], abs=6e-5)
    for one in described:
        mean, sd, rank = STORIES[one.system][kind]
        assert one.figures["mean"].value == pytest.approx(mean, abs=6e-4)
        assert one.figures["mean"].details["sd"] == pytest.approx(sd, abs=6e-4)
        assert rows["rank"][rows.system == one.system].mean() == pytest.approx(rank, abs=6e-4)


# Fleiss, alpha nominal, alpha ordinal, pairwise agreement
DIALOGUES = {
    ("HDSA", "completion"): (0.4504, 0.4507, 0.4236, 0.7372),
    ("HDSA", "readability"): (0.4021, 0.4023, 0.4339, 0.8985),
    ("human", "completion"): (0.2581, 0.2584, 0.2922, 0.5274),
    ("human", "readability"): (0.1632, 0.1635, 0.2115, 0.5656),
}


@pytest.fixture(scope="module")
def dialogues():
    return read_table(
        published_file("marco_pairwise/ratings_long.csv"),
        outputs=published_file("marco_pairwise/batch_long.csv"),
        raters_known=False,
    ).results()


@pytest.mark.one_case
@pytest.mark.parametrize(("other", "criterion"), DIALOGUES)
def test_agreement_of_marco_is_that_of_the_table(dialogues, other, criterion):
    table = dialogues.of(criterion)
    rows = table.rows[(table.rows.system_1 == other) | (table.rows.system_2 == other)]
    known = {"unit": rows["item"], "value": rows.outcome}

    got = (
        fleiss(Ratings(**known)).value,
        alpha(Ratings(**known), "nominal").value,
        alpha(Ratings(**known), "ordinal").value,
        percent_agreement(Ratings(**known)).value,
    )

    assert got == pytest.approx(DIALOGUES[other, criterion], abs=6e-5)
    assert len(rows) == 2226


def test_the_ready_made_file_of_marco_tells_its_pairs_without_the_items(dialogues):
    alone = read_table(published_file("marco_pairwise/ratings_long.csv"), raters_known=False)

    assert list(alone.rows.outcome) == list(dialogues.rows.outcome)
    (note,) = alone.notes
    assert note["code"] == "pairs_by_ending"
    assert note["facts"]["endings"] == [["1", "HDSA", "MarCo"], ["2", "MarCo", "human"]]
