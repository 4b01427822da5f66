"""The page of a study on which its instrument is changed."""

from evalsite.building import study_examples  # noqa: F401 (registers its page)
from evalsite.building.choice_views import change_draft_instrument
from evalsite.studies.models import Membership
from evalsite.studies.staff_pages import StudyView

study_views = [
    StudyView(
        path="items/instrument/",
        name="study-instrument",
        view=change_draft_instrument,
        role=Membership.Role.EDITOR,
        within="Items",
    )
]
