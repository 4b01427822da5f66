"""Names of items, systems and participants for a quick look, which nothing misreads."""

import re
from typing import TYPE_CHECKING, Any

from django.db.models import QuerySet

from evalsite.exports.rows import PAGE
from evalsite.studies.models import Item, Study, System

if TYPE_CHECKING:
    from evalsite.exports.answers import WideRow

# Starts with a letter, and nothing takes it for a missing value, a truth value, infinity, or a
# month with a number; "tie" is a separate value.
_SAFE_ID = re.compile(
    r"(?!(na|n/a|nan|null|none|nil|true|t|false|f|inf|infinity|tie)$)"
    r"(?!(jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?"
    r"|oct(ober)?|nov(ember)?|dec(ember)?)[\W_]*\d[\W\d_]*$)"
    r"[^\W\d_]",
    re.IGNORECASE,
)


class SafeNames:
    """Names of items, systems and participants that pandas, R and spreadsheets read as texts.

    If one id of a kind would be misread, all of that kind begin with a word: "item 007".
    """

    def __init__(self, study: Study) -> None:
        ids: dict[str, QuerySet[Any, str]] = {
            "item": Item.objects.main().filter(study=study).values_list("key", flat=True),
            "system": System.objects.filter(study=study).values_list("name", flat=True),
            "participant": study.participants.values_list("pseudonym", flat=True),
        }
        self._prefixes = {
            kind: "" if all(map(_SAFE_ID.match, found.order_by().iterator(PAGE))) else f"{kind} "
            for kind, found in ids.items()
        }

    def guard(self, kind: str, name: str) -> str:
        return f"{self._prefixes[kind]}{name}"

    def guard_ids(self, row: "WideRow") -> dict[str, str]:
        return {
            "item": self.guard("item", row.answer.item),
            "participant": self.guard("participant", row.answer.participant),
            "system": self.guard("system", row.system),
            "system_1": self.guard("system", row.comparison.system_1),
            "system_2": self.guard("system", row.comparison.system_2),
        }
