"""An analysis plan in words: what is compared, when it was written down, where flags begin."""

from collections.abc import Mapping
from typing import Any

from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format

from evalsite.analysis.figure import make_note
from evalsite.analysis.thresholds import BY_KEY, Limit
from evalsite.lib.words import count_of

Plan = Mapping[str, Any]
Rows = list[tuple[str, str]]
OWN_ERRORS = "a separate one for each pair of systems"
STOPPING = {"answers": "all planned answers are in", "closing": "the closing date is reached"}

# what each threshold is called, and what it measures
LIMITS = {
    "top_share": (
        "One value nearly always",
        "Share of a rater’s ratings that are their most used value. Flagged above this on"
        " every criterion, if others give that value so rarely that chance doesn’t "
        "explain it.",
    ),
    "top_share_ratings": (
        "One value nearly always: answers needed",
        "People with fewer answers are not flagged for their most used value.",
    ),
    "sd_ratio": (
        "Little variation",
        "Standard deviation of a rater’s ratings, in % of the median rater’s. Flagged "
        "below this, from 20 ratings on.",
    ),
    "identical": (
        "All criteria alike",
        "Share of outputs to which a rater gives one value on all criteria. Flagged above this.",
    ),
    "identical_others": (
        "All criteria alike: the other raters",
        "Flagged only where the other raters’ median share is below this.",
    ),
    "floor_share": (
        "Pages too fast to read",
        "Share of a person’s pages that took less than a second for every 10 words that "
        "were new to them. Flagged from this share on.",
    ),
    "floor_pages": (
        "Pages too fast to read: pages needed",
        "People with fewer pages are not flagged for them.",
    ),
    "speed_ratio": (
        "Fast",
        "Median seconds for an item, in % of the median rater’s. Flagged below this, if "
        "at least 20% of the pages were too fast to read.",
    ),
    "speed_answers": (
        "Fast: answers needed",
        "People with fewer answers are not flagged as faster than others.",
    ),
    "speed_answers_alone": (
        "Fast, where words aren’t known: answers needed",
        "The same where nobody knows how many words a page shows.",
    ),
    "rho": (
        "Orders outputs unlike the others",
        "Rank correlation with the mean of the others, over all criteria. Flagged below "
        "this, if all of its 95% interval is below the mean of all people.",
    ),
    "rho_ratings": (
        "Orders outputs unlike the others: answers needed",
        "With fewer answers, the line for few answers holds.",
    ),
    "rho_few": (
        "Orders outputs unlike the others, few answers",
        "The same line for people with fewer answers than that.",
    ),
    "rho_few_ratings": (
        "Orders outputs unlike the others, few: answers needed",
        "People with fewer answers are not flagged for their order.",
    ),
    "offset_sds": (
        "Higher or lower than the others",
        "Distance from what others give to the same outputs, in robust standard "
        "deviations of raters. Flagged above this, if it is more than half a point (of "
        "magnitudes: a ratio of 1.25) and the 95% interval leaves out the middle of "
        "raters.",
    ),
    "reserved": (
        "Points meant to be rare",
        "Share of a rater’s ratings on points meant for difficult cases. Flagged above this.",
    ),
    "reserved_ratio": (
        "Points meant to be rare, beside the others",
        "The same share, in times that of all raters. Flagged above this too, where it is"
        " the lower of the two lines.",
    ),
    "reserved_ratings": (
        "Points meant to be rare: ratings needed",
        "Raters with fewer ratings are not flagged for points meant to be rare.",
    ),
    "drift": (
        "Ratings rise or fall, in points",
        "Points by which ratings rise or fall over a set or over the study. Flagged above"
        " this, if the 95% interval leaves out zero.",
    ),
    "change_quantile": (
        "Otherwise the second time",
        "How much ratings change when the same item is shown again. Flagged where they "
        "change more than those of this share of raters, of five or more.",
    ),
    "gold": (
        "Gold and attention items answered right",
        "Share of gold and attention items that a rater answers right. Flagged below this.",
    ),
    "attention": (
        "Attention checks failed",
        "Share of attention checks that a person fails. Flagged from this share on.",
    ),
    "attention_checks": (
        "Attention checks failed: checks needed",
        "People with fewer attention checks are not flagged for failing them.",
    ),
}


def write_limit(limit: Limit, value: float) -> str:
    """ "70%", "0.1" or "20": the threshold as people enter it."""
    if limit.in_percent:
        return f"{round(value * 100, 4):g}%"
    return f"{value:g}".replace("-", "−")


def describe_moment(plan: Plan, name: str) -> str:
    """ "before the first answer", or "after 12 answers, on 3 May 2026"; "" if it never changed."""
    moment = plan["moments"].get(name)
    if moment is None:
        return ""
    at = parse_datetime(moment["at"])
    day = f"on {date_format(at, 'j F Y')}" if at else ""
    if moment["answers"]:
        return f"after {count_of(moment['answers'], 'answer')}, {day}"
    if plan["has_imported"]:
        return f"{day}, before the import of ratings that were collected elsewhere"
    return f"before the first answer, {day}"


def plan_in_words(plan: Plan, *, criteria: int) -> Rows:
    """The plan as names and words, for reports; [] of a report from before there were plans.

    `criteria`: how many are compared.
    """
    if not plan:
        return []
    margins = [describe_margin(plan, margin) for margin in plan.get("margins") or ()]
    hypotheses = [
        describe_hypothesis(plan, hypothesis) for hypothesis in plan.get("hypotheses") or ()
    ]
    return [
        ("Primary criterion", _describe_primary(plan)),
        ("Comparisons", "all pairs of systems"),
        ("p values", _describe_correction(plan, criteria)),
        *(
            [("Tests against a margin", _add_moment(plan, "margins", "; ".join(margins)))]
            if margins
            else []
        ),
        *(
            [("Hypotheses", _add_moment(plan, "margins", "; ".join(hypotheses)))]
            if hypotheses
            else []
        ),
        *([("Standard errors", OWN_ERRORS)] if plan.get("has_own_errors") else []),
        *([("Smallest difference", describe_smallest(plan))] if plan.get("smallest") else []),
        *([("Planned size", describe_size(plan))] if plan.get("size") else []),
        *(
            [("Clusters", " ".join(map(_describe_clusters, plan["clusters"])))]
            if plan.get("clusters")
            else []
        ),
        *_describe_rules(plan),
        ("Thresholds of flags", _describe_thresholds(plan)),
        *_describe_frozen(plan),
    ]


def _describe_rules(plan: Plan) -> Rows:
    """Return the rules that are run, and the one in words; where there are any, what is there."""
    rules = plan.get("rules") or ()
    rows = [("Exclusion rules", _add_worded(plan, "; ".join(rules)))] if rules else []
    if plan["exclusion_rule"] or not rules:
        rows.append(("Exclusion rule", describe_rule(plan)))
    return rows


def _describe_frozen(plan: Plan) -> Rows:
    """When the plan was frozen, and what departs from it."""
    rows = []
    if plan.get("frozen_at"):
        # that of the line, which a copy of a study doesn't have
        digest = f", SHA-256 {plan['sha256'][:12]}" if "sha256" in plan else ""
        rows.append(("Frozen", f"{_write_moment(plan['frozen_at'])}{digest}"))
    if planned := plan.get("planned"):
        answers = count_of(planned["answers"], "answer")
        words = f"{answers} to {count_of(planned['items'], 'item')}"
        if stopping := planned.get("stopping"):
            words += f"; collection stops when {STOPPING[stopping]}"
        rows.append(("Planned", words))
    if plan.get("hides_results"):
        rows.append(("Results by system", "hidden until the study was closed"))
    deviations = " ".join(map(describe_deviation, plan.get("deviations") or ())).rstrip(".")
    return [*rows, ("Deviations", deviations or "none")] if rows or deviations else []


def _find_label(plan: Plan, key: str) -> str:
    """Return the criterion's label; plans in reports of earlier versions hold the key only."""
    label: str = (plan.get("criteria") or {}).get(key, {}).get("label", key)
    return label


def describe_hypothesis(plan: Plan, hypothesis: Mapping[str, Any]) -> str:
    """ "on Fluency, A is better than B"."""
    relation = "is better than" if hypothesis["relation"] == "better" else "differs from"
    system, other = hypothesis["system"], hypothesis["other"]
    words = f"on {_find_label(plan, hypothesis['criterion'])}, {system} {relation} {other}"
    return words + _describe_judge(hypothesis)


def _describe_judge(row: Mapping[str, Any]) -> str:
    """ ", corrected by the labels of judge-a (prompt v2)"; "" where people alone decide."""
    if not row.get("judge"):
        return ""
    version = f" (prompt {row['prompt_version']})" if row.get("prompt_version") else ""
    return f", corrected by the labels of {row['judge']}{version}"


def describe_deviation(deviation: Mapping[str, Any]) -> str:
    """Return one sentence, with its moment and how many answers were in."""
    at, reason = _write_moment(deviation["at"]), deviation["reason"].rstrip(".")
    so_far = f"with {count_of(deviation['answers'] or 0, 'answer')} in"
    why = f": {reason}" if reason else ""
    match deviation["kind"]:
        case "revealed":
            known = (
                f"{deviation['answers']:,} of {deviation['planned']:,} answers"
                if deviation["planned"]
                else ""
            )
            words = f"Results were viewed on {at}, {f'with {known} in' if known else so_far}"
            return f"{words}.{f' Reason: {reason}.' if reason else ''}"
        case "declined":
            return f"The exclusion rules weren’t applied at closing, on {at}{why}."
        case "topped_up":
            return (
                f"{count_of(deviation['number'], 'more answer')} were asked for on {at}, {so_far}."
            )
        case "raised":
            return f"Answers per item were raised to {deviation['number']} on {at}."
        case "changed":
            return f"The plan was changed on {at} (version {deviation['number']}), {so_far}{why}."
        case "withdrawn":
            return f"{count_of(deviation['number'], 'item')} withdrawn from {at} on{why}."
        case "corrected":
            return f"{count_of(deviation['number'], 'output')} corrected from {at} on{why}."
        case "taken_back":
            return f"An exclusion on {at} that followed no rule was taken back{why}."
    return f"An exclusion on {at} followed no rule{why}."


def _write_moment(text: str) -> str:
    at = parse_datetime(text)
    return date_format(at, "j F Y \\a\\t H:i") + " UTC" if at else ""


def _describe_primary(plan: Plan) -> str:
    key = plan.get("primary")
    return _add_moment(plan, "primary", _find_label(plan, key) if key else "none")


def _describe_correction(plan: Plan, criteria: int) -> str:
    pairs = "these comparisons"
    if plan.get("hypotheses"):
        pairs = "the comparisons that the hypotheses name (the others are exploratory)"
    words = f"corrected by Holm’s method, over {pairs}"
    if criteria < 2:
        return words
    return f"{words} on each criterion" if plan.get("primary") else f"{words} on all criteria"


def describe_margin(plan: Plan, margin: Mapping[str, Any]) -> str:
    """ "on Fluency, A is not worse than B by more than 0.3 points"."""
    relation = "not worse than" if margin["relation"] == "not_worse" else "equivalent to"
    until = "by more than" if margin["relation"] == "not_worse" else "within"
    size, key = margin["margin"], margin["criterion"]
    unit = (plan.get("criteria") or {}).get(key, {}).get("unit")
    amount = f"{size:g}"
    if unit == "ratio":
        amount = f"a factor of {size:g}"
    elif unit == "percentage points":
        amount = f"{size * 100:g} percentage points"
    elif unit:
        amount = f"{size:g} points"
    label = _find_label(plan, key)
    words = f"on {label}, {margin['system']} is {relation} {margin['other']} {until} {amount}"
    words += f", at level {margin['level']:g}" if "level" in margin else ""
    words += _describe_judge(margin)
    if "slices" in margin:
        words += f", and fails if it is clearly worse in any {margin['slices']}"
    return words


def describe_smallest(plan: Plan) -> str:
    """ "0.3, for precision and power only: nothing is tested against it"."""
    return f"{plan['smallest']:g}, for precision and power only: nothing is tested against it"


def describe_size(plan: Plan) -> str:
    """ "50 inputs, ...: 82% power to find ...; chosen before the first answer, on ..."."""
    size = plan["size"]
    moment = describe_moment({**plan, "moments": {"size": size}}, "size")
    return f"{size['words']}; chosen {moment}"


def _add_moment(plan: Plan, name: str, words: str) -> str:
    moment = describe_moment(plan, name)
    return f"{words}; decided {moment}" if moment else words


def _add_worded(plan: Plan, words: str) -> str:
    """Add when the rules, of either kind, were last changed."""
    moment = describe_moment(plan, "exclusion_rule")
    return f"{words}; worded {moment}" if moment else words


def _describe_clusters(note: Mapping[str, Any]) -> str:
    """Return what was answered at an import whose items seemed to come from talks or documents."""
    facts = note["facts"]
    items, clusters = f"{facts['items']:,}", f"{facts['clusters']:,}"
    words = f"The ids of {items} items share {clusters} beginnings."
    if column := facts["column"]:
        words = f"{items} items come from {clusters} {facts['noun']} (column {column})."
    if note["code"] == "clusters_used":
        return f"{words} These are used as clusters of items."
    return f"{words} Items are treated as independent."


def describe_rule(plan: Plan) -> str:
    """Return the rule with its moment: whether it was worded before data were seen."""
    moment = describe_moment(plan, "exclusion_rule")
    if rule := " ".join(plan["exclusion_rule"].split()):
        return _add_worded(plan, f"“{rule}”")
    return f"none; it was taken back {moment}" if moment else "none was written down"


def describe_rules(plan: Plan) -> str:
    """Return the rules that the site applies, and the one in words with its moment."""
    rules = list(plan.get("rules") or ())
    if rules and not plan["exclusion_rule"]:
        return "; ".join(rules)
    return "; ".join([*rules, describe_rule(plan)])


def _describe_thresholds(plan: Plan) -> str:
    moment = describe_moment(plan, "thresholds")
    changed = [
        f"{LIMITS[key][0]}: {write_limit(BY_KEY[key], value)} (the software starts with "
        f"{write_limit(BY_KEY[key], BY_KEY[key].start)})"
        # PostgreSQL keeps what JSON holds in an order of its own
        for key in plan["limits"]
        if (value := plan["thresholds"].get(key)) is not None
    ]
    words = "; ".join(changed) or "the defaults"
    return f"{words}; set {moment}" if moment else words


def warn_of_plan(plan: Plan, *, has_excluded: bool) -> list[dict[str, Any]]:
    """Return what was fixed only when there were answers already, as warnings of a report."""
    parts = [
        ("late_primary", "primary", plan.get("primary")),
        ("late_margins", "margins", plan.get("margins")),
        ("late_rule", "exclusion_rule", plan["exclusion_rule"] and has_excluded),
    ]
    return [
        make_note(code, answers=moment["answers"], at=moment["at"])
        for code, name, is_chosen in parts
        if is_chosen and (moment := plan["moments"].get(name, {})).get("answers")
    ]
