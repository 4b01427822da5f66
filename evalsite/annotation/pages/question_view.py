"""One question of an item as a page shows it: a control, what was entered, what is wrong."""

import json
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from evalsite.protocol import Criterion
from evalsite.protocol.parts import COMMENT
from evalsite.protocol.scale import NA
from evalsite.studies.gold import Feedback


@dataclass(frozen=True)
class QuestionView:
    """One question as a control: `name` is its form name and id, `value` what was entered."""

    name: str
    criterion: Criterion
    definition: SafeString
    output_label: str
    number: int = 0  # the place of its output; 0: of all of them
    value: str = ""
    error: str = ""
    is_disabled: bool = False
    comment: str = ""
    comment_error: str = ""
    when: str = ""  # in words, when it is asked; "": always
    feedback: tuple[Feedback, ...] = ()  # in practice: what is suggested, beside what was answered
    # checked, and nothing is suggested
    is_unjudged: bool = False
    turn: int = 0  # of the conversation that it is asked of; 0: of all of it

    @property
    def template(self) -> str:
        return self.criterion.scale.template

    @property
    def is_kept(self) -> bool:
        """Whether it looks the same to many people: what is typed varies too much."""
        is_plain = not (self.error or self.feedback or self.is_unjudged or self.criterion.comment)
        scale = self.criterion.scale
        is_own = scale.is_typed or scale.is_of_person or self.words
        return is_plain and not self.when and not is_own

    @property
    def entries(self) -> list[str]:
        """The parts of what was entered, where a question has several controls."""
        return self.chosen.split()

    @property
    def chosen(self) -> str:
        """What was chosen, without words of one's own."""
        return self.value.partition("\n")[0]

    @property
    def words(self) -> str:
        """What was written at an option that has a box for it."""
        return self.value.partition("\n")[2]

    @property
    def is_not_applicable(self) -> bool:
        return NA in self.entries

    @property
    def typed(self) -> str:
        """What stands in the box of a number, without the tick beside it."""
        return " ".join(one for one in self.entries if one != NA)

    @property
    def rows(self) -> Any:
        """What the template of a kind with several controls goes through."""
        return self.criterion.scale.view_entry(self.value)

    @property
    def ask_if(self) -> str:
        """The condition under which it is asked, for the script of the page."""
        condition = self.criterion.ask_if
        return json.dumps(condition.to_data()) if condition else ""

    @property
    def comment_name(self) -> str:
        return f"{self.name}.{COMMENT}"

    @property
    def fingerprint(self) -> int:
        """The same number for the same words and points, in one process."""
        return hash(self.criterion)

    @property
    def control_id(self) -> str:
        """The id of the first control, where the link of an error leads."""
        return self.criterion.scale.first_control(self.name)
