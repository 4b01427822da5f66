"""A small Prolific that plays its part in tests: links out, codes, exports and texts in.

It knows only what its documents say: ids of 24 hexadecimal digits, one code for each outcome, ids
separated by commas for approvals, and lines of an id and an amount for bonuses.
"""

import csv
import io
import re
from dataclasses import dataclass, field
from decimal import Decimal
from urllib.parse import parse_qs, urlsplit

_ID = re.compile("[0-9a-f]{24}")
_AMOUNT = re.compile(r"[0-9]{1,4}\.[0-9]{2}")
_MOST_BONUSES = 200
_DONE = "https://app.prolific.com/submissions/complete"
COLUMNS = (
    "Submission id", "Participant id", "Status", "Custom study tncs accepted at", "Started at",
    "Completed at", "Reviewed at", "Archived at", "Time taken", "Completion code",
    "Total approvals", "Age", "First language",
)  # fmt: skip


@dataclass
class Submission:
    """One visit of a participant to the study."""

    session: str
    participant: str
    status: str = "ACTIVE"
    code: str = ""
    bonus: Decimal = Decimal(0)
    rejection: str = ""


@dataclass
class SimulatedProlific:
    """The study's page on Prolific: `link` and `actions` are what the researcher pasted."""

    link: str
    # what each code does: the status that a submission gets
    actions: dict[str, str]
    submissions: dict[str, Submission] = field(default_factory=dict)

    def send(self, number: int) -> tuple[Submission, str]:
        """Start a submission of this participant; return it with the address that they open."""
        count = len(self.submissions)
        one = Submission(f"{count + 1:x}".rjust(24, "a"), f"{number + 1:x}".rjust(24, "5"))
        self.submissions[one.session] = one
        address = self.link
        for name, value in (
            ("PROLIFIC_PID", one.participant),
            ("STUDY_ID", "c" * 24),
            ("SESSION_ID", one.session),
        ):
            assert f"{{{{%{name}%}}}}" in address
            address = address.replace(f"{{{{%{name}%}}}}", value)
        return one, address

    def hand_in(self, one: Submission, link: str) -> None:
        """Take somebody back by the link that the study shows."""
        assert link.startswith(f"{_DONE}?"), link
        [one.code] = parse_qs(urlsplit(link).query)["cc"]
        one.status = self.actions[one.code]

    def export(self, separator: str = ",") -> bytes:
        """Return the list of submissions as a file."""
        table = io.StringIO()
        writer = csv.writer(table, delimiter=separator, lineterminator="\r\n")
        writer.writerow(COLUMNS)
        for one in self.submissions.values():
            row = [one.session, one.participant, one.status, "", "", "", "", "", "", one.code]
            writer.writerow([*row, "12", "CONSENT_REVOKED", "DATA_EXPIRED"])
        return table.getvalue().encode()

    def approve(self, text: str) -> int:
        """Approve what is awaiting review; every id must be a submission of this study."""
        assert text == text.strip()
        ids = text.split(",")
        assert len({*ids}) == len(ids)
        for one in ids:
            assert _ID.fullmatch(one), one
            assert self.submissions[one].status == "AWAITING REVIEW"
            self.submissions[one].status = "APPROVED"
        return len(ids)

    def pay_bonuses(self, text: str) -> Decimal:
        """Pay every line; an id that comes twice would be paid twice."""
        rows = [*csv.reader(io.StringIO(text))]
        assert len(rows) <= _MOST_BONUSES
        assert len({row[0] for row in rows}) == len(rows)
        for session, amount in rows:
            assert _ID.fullmatch(session)
            assert _AMOUNT.fullmatch(amount)
            self.submissions[session].bonus += Decimal(amount)
        return sum((Decimal(amount) for _, amount in rows), Decimal(0))

    def reject(self, text: str) -> int:
        """Reject each submission, with a category and a message that are long enough."""
        rows = [*csv.reader(io.StringIO(text))]
        for session, category, message in rows:
            assert category in {"FAILED_CHECK", "TOO_QUICKLY", "LOW_EFFORT"}
            assert len(message) >= 100
            assert self.submissions[session].status == "AWAITING REVIEW"
            self.submissions[session].status, self.submissions[session].rejection = (
                "REJECTED",
                message,
            )
        return len(rows)
