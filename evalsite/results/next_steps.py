"""What a researcher does next, by the state of the study."""

from dataclasses import dataclass

from evalsite.results.progress import Activity, Progress
from evalsite.studies.models import Membership, Study
from evalsite.studies.starter_texts import find_placeholders
from evalsite.studies.summary_lines import count_of


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing to do, why, and the page on which it is done."""

    title: str
    why: str
    url_name: str
    action: str
    role: Membership.Role = Membership.Role.EDITOR
    is_post: bool = False


def next_steps(study: Study, progress: Progress, activity: Activity) -> list[Step]:
    """Return the steps that fit this study now, the most pressing first."""
    if not study.is_launched:
        return _before_launch(study, progress)
    return [
        *_to_open(study, activity),
        *_while_running(study, progress),
        *_to_look_at(activity),
        *_to_take_out(progress),
    ]


def _before_launch(study: Study, progress: Progress) -> list[Step]:
    if study.version_id is not None:
        return [
            Step(
                title="The launch is on its way",
                why="The places for participants are being made. You may leave the page.",
                url_name="study-launch",
                action="Watch the launch",
            )
        ]
    if not progress.target:
        return [
            Step(
                title="Upload the items",
                why="A file with the outputs of your systems. You see everything before it counts.",
                url_name="batch-list",
                action="Upload items",
            )
        ]
    # answers that were collected elsewhere are there before any launch
    if progress.done >= progress.target:
        return _to_take_out(progress)
    return [*_texts(study), *_trials(), *_to_take_out(progress)]


def _texts(study: Study) -> list[Step]:
    if study.contact_email and not find_placeholders(study.consent + study.summary):
        return []
    return [
        Step(
            title="Write the texts",
            why="The consent text, the summary and a contact are needed before the launch.",
            url_name="study-settings",
            action="Open settings",
        )
    ]


def _trials() -> list[Step]:
    return [
        Step(
            title="Take it as an annotator",
            why="See what people will see. Pilot answers are never in the results.",
            url_name="study-pilot",
            action="Open pilot",
        ),
        Step(
            title="Launch",
            why="A checklist says what is missing. From then on the design is fixed.",
            url_name="study-launch",
            action="Open launch",
        ),
    ]


def _while_running(study: Study, progress: Progress) -> list[Step]:
    if study.state == Study.State.PAUSED:
        return [
            Step(
                title="Resume the study",
                why="It is paused, so no new work is handed out.",
                url_name="study-resume",
                action="Resume",
                is_post=True,
            )
        ]
    if not study.is_open:
        return []
    if progress.done >= progress.target:
        return [
            Step(
                title="Close the study",
                why="Every item has its answers.",
                url_name="study-close-confirm",
                action="Close…",
                role=Membership.Role.OWNER,
            )
        ]
    missing = count_of(progress.target - progress.done, "answer")
    return [
        Step(
            title="Invite people",
            why=f"{missing} still to come.",
            url_name="study-recruitments",
            action="Invite people",
        )
    ]


def _to_open(study: Study, activity: Activity) -> list[Step]:
    if not activity.waiting or study.closed_at is not None:
        return []
    return [
        Step(
            title=f"Open {count_of(activity.waiting, 'batch', 'batches')}",
            why="Items of a later batch aren't handed out until an owner opens it.",
            url_name="batch-list",
            action="Open items",
        )
    ]


def _to_look_at(activity: Activity) -> list[Step]:
    if not activity.held:
        return []
    verb = "is" if activity.held == 1 else "are"
    return [
        Step(
            title=f"Look at {count_of(activity.held, 'held item')}",
            why=f"People reported problems, so {count_of(activity.held, 'item')} {verb} held.",
            url_name="study-held",
            action="Open held items",
        )
    ]


def _to_take_out(progress: Progress) -> list[Step]:
    if not progress.done:
        return []
    return [
        Step(
            title="See the results",
            why="Systems compared, with intervals, and how much raters agree.",
            url_name="study-results",
            action="Open results",
            role=Membership.Role.VIEWER,
        ),
        Step(
            title="Download the ratings",
            why=f"{count_of(progress.done, 'answer')} so far, as CSV with a codebook.",
            url_name="study-export",
            action="Open files",
            role=Membership.Role.VIEWER,
        ),
    ]
