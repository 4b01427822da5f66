"""The report as LaTeX: well formed whatever names hold, and true to the report's numbers."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from evalsite.results.report.criterion_tables import find_estimate, tabulate_pairs
from evalsite.results.report.latex import escape, set_p, write_comment, write_table
from evalsite.results.report.latex_document import (
    find_cited,
    list_files,
    read_references,
    write_archive,
    write_fragment,
    write_further,
    write_references,
)
from evalsite.results.report.methods import write_findings, write_methods

from evalsite.instruments.schema import Instrument
from evalsite.results.models import Report
from evalsite.results.report.datasheet import fill_datasheet
from evalsite.results.report.sentences import write_sentence
from evalsite.results.report.study_facts import collect_facts, describe_asked
from evalsite.results.report.wording import write_interval, write_p, write_value
from evalsite.studies.models import Study
from tests.support.instruments import GALLERY
from tests.support.reported import HOSTILE, keep_report, make_reported_study
from tests.support.reports import make_content, make_figure, make_finding

Settings = Any
COMMANDS = {
    "begin", "end", "caption", "label", "centering", "small", "toprule", "midrule", "bottomrule",
    "resizebox", "parbox", "raggedleft", "raggedright", "shortstack", "strut", "clearpage",
    "linewidth", "includegraphics", "paragraph", "textbf", "texttt", "citep", "ldots",
    "addlinespace", "textbackslash", "textasciitilde", "textasciicircum", "textbar", "char",
    "pounds", "texteuro",
}  # fmt: skip
IN_FORMULAS = {"alpha", "delta", "zeta", "kappa", "tau", "rho", "chi", "times", "geq", "leq"}
# a backslash with one of these is a sign or a space
SIGNS = re.compile(r"\\[%&#_{}$,\\]")
TABLE = re.compile(r"\\begin\{tabular\}\{(lr*)\}(.*?)\\end\{tabular\}", re.S)
RULE = re.compile(r"\\(?:(?:top|mid|bottom)rule|addlinespace)")
FORMULA = re.compile(r"\$([^$]*)\$")


def check_latex(text: str) -> None:
    """Fails where TeX would stop, or would read a name as more than a name."""
    lines = [line for line in text.split("\n") if not line.startswith("% ")]
    body = SIGNS.sub("", "\n".join(lines).replace("{!}{%\n", "{!}{\n"))
    for formula in FORMULA.findall(body):
        assert re.fullmatch(r"[-<>pWmtgdQ2^]|d_z|\^2|\\(\w+)|p [<>=] \.\d+", formula), formula
        assert not formula.startswith("\\") or formula[1:] in IN_FORMULAS
    plain = FORMULA.sub("", body)
    assert not re.search(r"[#%$^]", plain), re.findall(r".{20}[#%$^].{20}", plain)
    assert set(re.findall(r"\\([A-Za-z]+)", plain)) <= COMMANDS
    assert not re.search(r"\\[^A-Za-z]", plain)
    assert_balanced(plain)
    for columns, inside in TABLE.findall(plain):
        rows = [line for line in inside.split("\n") if line and not RULE.fullmatch(line)]
        assert {row.count("&") for row in rows} == {len(columns) - 1}


def assert_balanced(plain: str) -> None:
    depth, opened = 0, []
    for sign in plain:
        depth += {"{": 1, "}": -1}.get(sign, 0)
        assert depth >= 0
    assert depth == 0
    for word, name in re.findall(r"\\(begin|end)\{(\w+)\}", plain):
        if word == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert opened == []


@pytest.fixture
def study(db: None, settings: Settings, tmp_path: Path) -> Study:
    settings.DATA_DIR = tmp_path
    return make_reported_study()


@pytest.fixture
def report(study: Study) -> Report:
    return keep_report(study)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a_b & 100%", r"a\_b \& 100\%"),
        ("#1 $x$ {y}", r"\#1 \$x\$ \{y\}"),
        ("\\input{x}", r"\textbackslash{}input\{x\}"),
        ("~ ^", r"\textasciitilde{} \textasciicircum{}"),
        ("−0.5", "$-$0.5"),
        ("p < .001", "p $<$ .001"),
        ("a--b – c", "a-{}-b -- c"),
        ("[a] *", "{[}a{]} {*}"),
        ("two\nlines\t\0 \u2028x", "two lines x"),
        ("a\u202eb\u200b", "ab"),
        ("Ärger 漢字 α", r"Ärger 漢字 $\alpha$"),
    ],
)
def test_names_are_shown_and_never_run(name: str, shown: str) -> None:
    assert escape(name) == shown
    check_latex(escape(name))


def test_every_sign_of_ascii_can_stand_in_a_name() -> None:
    name = "".join(map(chr, range(128)))

    check_latex(write_table([name, name], [[name, name]], caption=name, label="tab:x"))


def test_long_heads_and_cells_are_broken_and_wide_tables_made_as_narrow_as_the_line() -> None:
    narrow = write_table(
        ["System", "Share of the most used answer"], [["a", "1"]], caption="", label=""
    )
    wide = write_table(["System"] * 12, [["a name"] * 12], caption="", label="")
    told = write_table(
        ["Figure", "From"], [["x", "111 units, 196 ratings, 12 raters"]], caption="", label=""
    )

    assert r"\shortstack[r]{Share of the\\most used\\answer}" in narrow
    assert "resizebox" not in narrow
    assert "resizebox" in wide
    assert r"\parbox[t]{0.34\linewidth}{\raggedleft 111 units" in told
    for table in (narrow, wide, told):
        check_latex(table)


def test_a_comment_is_one_line_whatever_it_quotes() -> None:
    assert write_comment(["a\nb\r\nc"]) == "% a b c"


def test_the_fragment_is_well_formed_with_hostile_names(study: Study, report: Report) -> None:
    fragment = write_fragment(study, report)

    check_latex(fragment)
    for name in HOSTILE:
        assert escape(name) in fragment
    labels = re.findall(r"\\label\{([^}]*)\}", fragment)
    assert len(labels) == len(set(labels))


@pytest.mark.parametrize(
    ("told", "formula"), [(0.0124, "$p = .012$"), (4e-5, "$p < .001$"), (1.0, "$p > .999$")]
)
def test_a_p_value_is_one_formula(told: float, formula: str) -> None:
    p = write_p(told)

    found = set_p(escape(f"corrected p {p if p[0] in '<>' else f'= {p}'}"))

    assert found == f"corrected {formula}"


def test_numbers_are_the_report_s(study: Study, report: Report) -> None:
    fragment = write_fragment(study, report)
    further = write_further(study, report)
    kept = report.content["kept"]

    for criterion in kept["criteria"]:
        for system in criterion["systems"]:
            told = (write_value(system["headline"]), f"({write_interval(system['headline'])})")
            assert all(escape(part) in further for part in told)
            assert escape(write_value(find_estimate(criterion, system))) in fragment
        for pair in criterion["pairs"]:
            assert set_p(escape(write_sentence(pair["finding"]))) in fragment
            p = write_p(pair["effect"]["details"]["p_corrected"])
            assert f"$p {p if p[0] in '<>' else f'= {p}'}$" in fragment
    data = kept["data"]
    assert f"{data['participants']} participants gave {data['ratings']} ratings" in fragment
    assert f"seed {kept['seed']}" in fragment
    assert report.sha256 in fragment


def test_what_is_cited_is_in_the_references_and_nothing_else(study: Study, report: Report) -> None:
    files = list_files(study, report)
    cited = find_cited((files["report.tex"] + files["further.tex"]).decode())

    entries = set(re.findall(r"^@\w+\{(\w+),$", files["references.bib"].decode(), flags=re.M))

    assert entries == cited
    assert {"krippendorff2004", "holm1979", "owen2007", "kenward1997"} <= cited
    assert "davidson1970" not in cited  # magnitudes need no model of preferences


def test_methods_name_every_test_size_and_coefficient_of_the_tables(
    study: Study, report: Report
) -> None:
    criterion = report.content["kept"]["criteria"][0]
    checks = [make_figure(name, 1.0) for name in ("wilcoxon", "sign_flip", "sign_within")]
    sizes = [make_figure(name, 0.5) for name in ("superiority", "gz", "cliffs_delta")]
    for pair in criterion["pairs"]:
        pair |= {"checks": checks, "sizes": sizes}
    criterion["tests"] = [make_figure("friedman", 9.0), make_figure("cochran_q", None, reason="x")]
    criterion["agreement"] += [
        make_figure(name, 0.5) for name in ("percent_agreement", "pairwise_spearman")
    ]
    criterion["kappas"] = {"raters": ["p-one", "p-two"], "values": [[None, 0.4], [0.4, None]]}
    report.save()

    fragment = list_files(study, report)["report.tex"].decode()
    methods = fragment[: fragment.index(r"\begin{table}")]

    for words in ("Wilcoxon", "sign-flip", "sign test of the order within pages", "Hedges' $g$",
                  "Cliff's $\\delta$", "Friedman", "share of pairs of ratings that agree",
                  "Spearman correlation of two raters", "weighted $\\kappa$"):  # fmt: skip
        assert words in methods
    assert "Cochran" not in methods  # it has no value here


def make_criterion(label: str, *effects: dict[str, Any], **known: Any) -> dict[str, Any]:
    pairs = [{"effect": effect, "sizes": [], "checks": []} for effect in effects]
    return {"key": label, "label": label, "kind": "likert", "systems": [], "tests": [],
            "joint": None, "agreement": [], "notes": [], "pairs": pairs, **known}  # fmt: skip


def test_methods_tell_only_what_was_done(study: Study, report: Report) -> None:
    # by method: two compared, one that could not be, one that a single rater described
    mixed = "REML, crossed random effects (Kenward-Roger)"
    over = "t test over items (generalises over items, not raters)"
    tested = make_figure("difference", 1.0, method=mixed, details={"p": 0.01, "family": 2})
    also = make_figure("difference", 1.0, method="bootstrap over items and raters")
    undefined = make_figure("difference", None, method=mixed, details={"family": 0})
    alone = make_figure("difference", 1.0, method=over, details={"untested": "needs two raters"})
    model = {"method": mixed, "terms": ["rater", "group"]}
    both = make_criterion("Both", tested, also, model=model)
    part = make_criterion("Part", also, undefined, model=model)
    thin = make_criterion("Thin", undefined)
    one = make_criterion("One", alone)
    found, facts = report.content["kept"], collect_facts(study, report)

    def tell(*criteria: dict[str, Any]) -> str:
        return write_methods(facts, {**found, "criteria": criteria})

    assert "effects of raters and inputs, fitted" in tell(both)
    assert "linear mixed model" not in tell(part)
    for nothing in (tell(thin), tell(one), tell(thin, one)):
        assert "Systems are compared" not in nothing
        assert "Holm" not in nothing
        assert "$t$ test" not in nothing
    assert "No two systems could be compared by these ratings." in tell(thin)
    assert "One rater says nothing about others" in tell(one)
    assert "For Both, systems are compared in pairs by" in tell(both, one)
    assert "One: One rater says nothing about others, so nothing was tested;" in tell(both, one)


def test_no_bootstrap_is_claimed_for_the_means_of_the_model(study: Study, report: Report) -> None:
    criterion = make_criterion("Fluency", make_figure("difference", 1.0), estimator="model")
    headline = make_figure("mean", 4.0, details={"draws": 2000}, n={"raters": 3})
    criterion["systems"] = [{"system": "a", "headline": headline}]

    told = write_methods(
        collect_facts(study, report), {**report.content["kept"], "criteria": [criterion]}
    )

    drawn, _, modelled = told.partition("main tables")
    assert "of these figures are percentiles of 2,000 draws" in drawn
    assert "the mixed model instead, with intervals from the $t$ distribution" in modelled


def test_questions_about_turns_are_told_with_their_turns_and_as_means_of_means(
    study: Study, report: Report
) -> None:
    config = Instrument.model_validate(
        json.loads((GALLERY / "conversation_turns.json").read_bytes())
    )
    facts = replace(
        collect_facts(study, report), criteria=tuple(describe_asked(one) for one in config.criteria)
    )
    criterion = make_criterion("Turn", make_figure("difference", 1.0), family="turns")
    criterion["systems"] = [{"system": "a", "headline": make_figure("mean", 4.0)}]

    told = write_methods(facts, {**report.content["kept"], "criteria": [criterion]})

    assert "asked of the marked turns of the role" in told
    assert "answers about the turns of a conversation being averaged first" in told
    assert "turn" not in next(one.scale for one in facts.criteria if one.key == "overall")


def test_a_family_of_no_comparison_is_not_told() -> None:
    undefined = make_figure("difference", None, reason="undetermined", details={"family": 0})
    criterion = make_content()["criteria"][0]
    criterion["pairs"][0]["effect"] = undefined

    table = tabulate_pairs(criterion)

    assert table is not None
    assert "Holm" not in table.words


def test_every_p_value_of_a_finding_is_one_formula() -> None:
    pairs = [{"finding": make_finding("not_enough", "A", "B", p=p)} for p in (0.105, 0.0004)]
    found = {"label": "Fluency", "agreement": [], "pairs": pairs}

    told = write_findings(found)

    assert "(corrected $p = .105$)" in told
    assert "(corrected $p < .001$)" in told


def test_methods_name_the_instrument_and_how_an_input_is_met(study: Study, report: Report) -> None:
    once = write_fragment(study, report)
    data = report.content["kept"]["data"]
    data["items"] = data["groups"] + 1
    often = write_fragment(study, report)

    assert "The instrument follows" not in once
    assert f"The instrument was ``{study.config.title}'', based on" in once
    assert "A participant could see an input in several items." not in once
    assert "A participant could see an input in several items." in often


def test_every_reference_is_well_formed() -> None:
    text = write_references(read_references())

    for entry in text.strip().split("\n\n"):
        assert entry.count("{") == entry.count("}")
        assert {"author", "title", "year"} <= set(re.findall(r"^  (\w+) =", entry, flags=re.M))


def test_every_figure_that_is_named_is_there(study: Study, report: Report) -> None:
    files = list_files(study, report)

    named = re.findall(r"\\includegraphics\[[^]]*\]\{([^}]*)\}", files["report.tex"].decode())

    assert named
    assert set(named) <= set(files)


def test_drawings_that_name_raters_stay_on_the_site(study: Study, report: Report) -> None:
    criterion = report.content["kept"]["criteria"][0]
    criterion["kappas"] = {"raters": ["p-one", "p-two"], "values": [[None, 0.4], [0.4, None]]}
    for kind in ("svg", "pdf"):
        (report.folder / f"{criterion['key']}-kappas.{kind}").write_bytes(b"p-one")

    files = list_files(study, report)

    assert any(name.endswith("-systems.pdf") for name in files)
    assert not any("kappas" in name for name in files)


def test_the_same_report_makes_the_same_archive(study: Study, report: Report) -> None:
    assert write_archive(study, report) == write_archive(study, report)


def test_simulated_ratings_are_told_in_the_methods_and_under_every_table(
    study: Study, report: Report
) -> None:
    fragment = write_fragment(study, report)

    captions = re.findall(r"\\caption\{(.*)\}$", fragment, flags=re.M)
    assert captions
    assert all("Simulated ratings" in caption for caption in captions)
    assert r"\textbf{All of these are simulated," in fragment


def test_ratings_collected_elsewhere_get_no_story_of_this_site(
    study: Study, report: Report
) -> None:
    report.content["kept"]["data"]["origins"] = {"own": 0, "imported": 10, "simulated": 0}

    fragment = write_fragment(study, report)

    assert "10 ratings were collected elsewhere" in fragment
    assert "was to be rated" not in fragment
    assert "Simulated" not in fragment


def test_what_limits_one_criterion_is_told_with_its_label(study: Study, report: Report) -> None:
    found = report.content["kept"]
    (key, label) = found["criteria"][0]["key"], found["criteria"][0]["label"]
    found["warnings"] = [
        {"code": "few_items", "facts": {}, "criterion": None},
        {"code": "one_item", "facts": {}, "criterion": key},
        {"code": "separated", "facts": {}, "criterion": "together"},
    ]
    few_items, one_item, separated = map(write_sentence, found["warnings"])

    limits = f"{few_items} {label}: {one_item} {separated}"
    assert escape(limits) in write_fragment(study, report)
    assert fill_datasheet(study, report).cautions == (few_items, f"{label}: {one_item}", separated)


def test_what_has_no_value_is_not_cited(study: Study, report: Report) -> None:
    for figure in report.content["kept"]["criteria"][0]["agreement"]:
        if not figure["name"].startswith("alpha"):
            figure |= {"value": None, "reason": "raters_unknown"}

    cited = find_cited(write_fragment(study, report))

    assert "krippendorff2004" in cited
    assert not {"shrout1979", "kendall1939"} & cited


@pytest.mark.torture
def test_preferences_cite_the_model_that_they_were_fitted_by(
    db: None, settings: Settings, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path
    study = make_reported_study("pairwise")
    fragment = write_fragment(study, keep_report(study))

    check_latex(fragment)
    assert "davidson1970" in find_cited(fragment)
    assert "a term for the place" in fragment
    for label in ("completion", "readability"):
        assert rf"\paragraph{{{label}.}}" in fragment
