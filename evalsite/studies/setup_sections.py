"""Set up: its sections, and which settings each of them holds."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Group:
    """Fields of a section under one heading."""

    title: str
    names: tuple[str, ...]
    is_paired: bool = False  # short fields, two in a row


@dataclass(frozen=True, kw_only=True)
class Section:
    """One page of Set up: its name in addresses and in the navigation, and its fields."""

    key: str
    label: str
    groups: tuple[Group, ...]
    has_options: bool = False  # the protocol's own
    previews: tuple[str, ...] = ()

    @property
    def fields(self) -> list[str]:
        return [name for group in self.groups for name in group.names]

    @property
    def page(self) -> str:
        """Return the name of its page."""
        return f"setup-{self.key}"


SECTIONS = (
    Section(
        key="basics",
        label="Basics",
        groups=(
            Group(title="Study", names=("title", "description", "language")),
            Group(title="Dates", names=("opens_at", "closes_at", "closes_when_full")),
            Group(
                title="Contact for participants",
                names=("organisation", "contact_email"),
            ),
        ),
        previews=("landing",),
    ),
    Section(
        key="first-page",
        label="First page and consent",
        groups=(
            Group(title="First page", names=("headline", "summary")),
            Group(title="Texts that may distress", names=("content_warning", "covers_items")),
            Group(
                title="Consent",
                names=(
                    "has_notice", "answers_kept_for", "ethics_approval", "consent", "minimum_age",
                    "asks_to_share", "identity_days", "recognise_days", "withdrawable_until",
                    "responsible", "complaints",
                ),
            ),
            Group(title="Who may take part", names=("is_eligibility_on",)),
        ),
        previews=("landing", "consent"),
    ),
    Section(
        key="instructions",
        label="Instructions",
        groups=(
            Group(title="Text", names=("instructions",)),
            Group(
                title="Before the work",
                names=(
                    "is_check_on", "is_practice_on", "may_skip_practice", "is_qualification_on",
                    "pass_mark",
                ),
            ),
            Group(title="On each item", names=("is_aided",)),
        ),
        has_options=True,
        previews=("instructions", "item"),
    ),
    Section(
        key="checks",
        label="Checks",
        groups=(
            Group(title="How many", names=("check_every",)),
            Group(
                title="Hidden repeats",
                names=("repeat_percent", "repeat_distance"),
                is_paired=True,
            ),
        ),
    ),
    Section(
        key="work",
        label="Work and pay",
        groups=(
            Group(
                title="Answers and sets",
                names=("k", "set_size", "max_sets", "max_items", "lease_minutes"),
                is_paired=True,
            ),
            Group(
                title="Design",
                names=("item_order", "groups", "expected_participants"),
                is_paired=True,
            ),
            Group(
                title="Pay",
                names=("minutes_per_set", "pay_per_set", "currency", "pay_target"),
                is_paired=True,
            ),
            Group(title="Bonus", names=("has_bonus", "bonus")),
        ),
        previews=("landing",),
    ),
)  # fmt: skip
OF_SECTION = {name: section for section in SECTIONS for name in section.fields}
