"""What each role may do in a study: the team's page, invitations and tests read this table."""

from dataclasses import dataclass

from evalsite.studies.models import TeamRole


@dataclass(frozen=True, kw_only=True)
class RoleRow:
    """Something that people do in a study, and from which role on."""

    # completes “you can ...”
    label: str
    detail: str
    least: TeamRole
    # pages that do it, as (method, name)
    pages: tuple[tuple[str, str], ...]

    @property
    def marks(self) -> list[tuple[TeamRole, bool]]:
        """Return each role, the least first, with whether it may."""
        return [(role, role.rank >= self.least.rank) for role in TeamRole]


def _row(label: str, detail: str, least: TeamRole, *pages: str) -> RoleRow:
    named = tuple((method, name) for method, name in (page.split() for page in pages))
    return RoleRow(label=label, detail=detail, least=least, pages=named)


ROLE_TABLE = [
    _row(
        "See progress, results and notes",
        "Not the results that are hidden",
        TeamRole.VIEWER,
        "get study-overview", "get study-people", "get study-results", "get study-team",
    ),
    _row(
        "Download files",
        "Without identities, entry or background answers",
        TeamRole.VIEWER,
        "get study-export", "post export-file",
    ),
    _row(
        "Set up the study",
        "Pilot, items, imports and their undo, withdrawing items, checks",
        TeamRole.EDITOR,
        "get setup-work", "post upload-import", "post batch-undo", "get study-pilot",
        "post item-withdraw", "post item-put-back",
    ),
    _row(
        "Recruit people",
        "Invite people, panels and links",
        TeamRole.EDITOR,
        "get study-invite", "post study-invite", "post study-panel",
    ),
    _row(
        "Run the study",
        "Pause and resume, top-ups, held items",
        TeamRole.EDITOR,
        "post study-pause", "post study-resume", "post study-top-up", "post item-release",
    ),
    _row(
        "Act on people",
        "Exclusions, notes, stop and take back, reassign",
        TeamRole.EDITOR,
        "post study-exclude", "post people-stop", "post invited-change",
    ),
    _row(
        "See identities",
        "Entry and background answers, receipts, people’s own links, file of IDs",
        TeamRole.EDITOR_WITH_IDENTITIES,
        "post export-identities", "post export-answers", "post invited-links",
    ),
    _row(
        "Decide about pay",
        "Approve, reject, answer a review",
        TeamRole.EDITOR_WITH_IDENTITIES,
        "post round-pay", "post pay-decide", "post pay-review",
    ),
    _row(
        "Launch, close and archive the study",
        "",
        TeamRole.OWNER,
        "post study-launch-start", "post study-close", "post study-archive",
    ),
    _row(
        "Change what is evaluated after launch",
        "Rename a system, correct an output",
        TeamRole.OWNER,
        "post system-rename", "post output-correct",
    ),
    _row(
        "Change the analysis plan after launch",
        "Apply or decline its rules, reveal results early",
        TeamRole.OWNER,
    ),
    _row(
        "Change the team",
        "Roles, hand over",
        TeamRole.OWNER,
        "post team-invite", "post member-role", "post study-hand-over",
    ),
    _row(
        "Delete people’s data or the study",
        "",
        TeamRole.OWNER,
        "post study-delete",
    ),
]  # fmt: skip


def list_powers(role: TeamRole) -> tuple[list[RoleRow], list[RoleRow]]:
    """Return what this role may do, and what it may not."""
    may = [row for row in ROLE_TABLE if role.rank >= row.least.rank]
    return may, [row for row in ROLE_TABLE if row not in may]
