"""What a planner asks and says of the kinds of questions, beside its numbers in
analysis/families."""

from dataclasses import dataclass

GUESS = "an informed guess of the usual size, to be replaced by results of your own"
RANKME = "what this site's analysis finds in the published ratings of RankME (Novikova, Dušek and "


@dataclass(frozen=True, kw_only=True)
class PlannerWords:
    question: str
    refusal: str  # of a difference out of range, with {widest}
    unit: str
    difference: str  # with {asked} and {label}
    note: str = ""  # with {ties}
    note_on_design: str = ""  # with {points} and {difference}, those of a simulated design
    no_results: str = ""  # why a study's results don't show how much its ratings vary


# by simulation
PLANNERS = {
    "likert": PlannerWords(
        question="Difference to find, in points",
        refusal="Enter points above 0, at most {widest:g}, such as 0.5.",
        unit="points",
        difference="a difference of {asked} points on {label}",
        note_on_design="Ratings are whole points from 1 to {points}: of the difference asked for, "
        "{difference:.2f} points are left in the means.",
    ),
    "magnitude": PlannerWords(
        question="Ratio to find, such as 1.2 for a fifth more",
        refusal="Enter a ratio above 1, at most 10, such as 1.2.",
        unit="natural logarithms",
        difference="a ratio of {asked} on {label}",
    ),
    "decision": PlannerWords(
        question="Difference to find, in percentage points of yes",
        refusal="Enter percentage points above 0 and below 100, such as 15.",
        unit="a judgement that turns into yes above a threshold",
        difference="a difference of {asked} percentage points on {label}",
        note="About half of the decisions are yes: the nearer a share is to 0 or 100%, the more "
        "decisions it takes to find the same ratio.",
        no_results="Shares of yes don't tell how much the judgement behind them varies, so "
        "decisions are planned with typical values.",
    ),
    "pairs": PlannerWords(
        question="Share of wins to find, in % of the answers that are no tie",
        refusal="Enter a share above 50 and below 100, such as 60.",
        unit="log odds of a win",
        difference="{asked}% of wins among decided answers on {label}",
        note="Preferences follow Davidson's model, with {ties} ties between equal outputs. The "
        "interval is of the net win share.",
        no_results="Preferences can't show this: they show which output wins, not by how much. "
        "Plan for somewhat more inputs than the minimum.",
    ),
}
# by simulation and source: what a source of standard deviations is called, and where it is from
SOURCES = {
    ("likert", "typical"): ("Typical of 5 to 7 points", GUESS),
    ("likert", "rankme"): (
        "RankME 2018, points from 1 to 6",
        f"{RANKME}Rieser 2018), informativeness from 1 to 6, 900 ratings by 19 people",
    ),
    ("magnitude", "typical"): ("Typical of magnitudes", GUESS),
    ("magnitude", "rankme"): (
        "RankME 2018, magnitudes",
        f"{RANKME}Rieser 2018), magnitudes of informativeness, 900 ratings by 10 people",
    ),
    ("decision", "typical"): ("Typical decisions", GUESS),
    ("pairs", "typical"): ("Typical of preferences", GUESS),
}
# what to do with a family that has no planner
UNPLANNED = {
    "categories": "Choices are planned by one of the scores.",
    "shares": "Checklists are planned by one of the scores.",
    "edits": "Corrected texts are planned by one of the scores.",
    "penalties": "Marked errors are planned by one of the scores.",
    "ranks": "Orders are planned by one of the scores.",
    "text": "Words are read, not counted, so they need no plan.",
    "turns": "Questions about turns are planned by one of the scores of whole conversations.",
}
