"""Rounds of recruiting: creating one, changing it, its codes, and turning it on and off."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Max, QuerySet

from evalsite.core.audit.models import AuditEntry
from evalsite.people.models import (
    OutcomeCode,
    ParticipantLink,
    PersonalLink,
    Recruitment,
    Visit,
)
from evalsite.people.platforms import Outcome, Platform
from evalsite.people.random_codes import hash_token, make_outcome_code
from evalsite.people.recognition import has_rules
from evalsite.studies.models import Item, Study
from evalsite.studies.setting_changes import change_settings
from evalsite.studies.summary_lines import format_money, hourly_pay, list_of

_TRIES = 5
CHECKS_WITH_A_PANEL = 2
_TIMES = {2: "second", 3: "third"}


@transaction.atomic
def create_recruitment(
    *, study: Study, platform: Platform, time: int | None = None, by: Any
) -> Recruitment:
    """Create a round on this platform, turned off, with the codes that it begins with.

    `time`: the first, the second ... on this platform; if there is one already, it is the answer.
    """
    Study.objects.select_for_update(no_key=True).only("pk").get(pk=study.pk)
    known = list(study.recruitments.filter(platform=platform.key).exclude(number=0))
    if time is not None and time <= len(known):
        return known[time - 1]
    last = study.recruitments.aggregate(last=Max("number"))["last"] or 0
    recruitment = Recruitment.objects.create(
        study=study,
        number=last + 1,
        platform=platform.key,
        settings={setting.name: setting.initial for setting in platform.settings},
        # people who were invited by name go on for as long as there is work, unless limited
        has_further_sets=platform.has_personal_links,
    )
    for outcome, leaves in platform.exits.items():
        if leaves.starts_with_code:
            create_code(recruitment=recruitment, outcome=outcome)
    _record("round created", recruitment, by, platform=platform.key)
    return recruitment


def name_round(platform: Platform, time: int, recruitment: Recruitment | None = None) -> str:
    """Return what researchers call a panel, used for the first, the second ... time."""
    name = (recruitment.name_for_people if recruitment else "") or platform.label
    return name if time == 1 else f"{name}, {_TIMES.get(time, f'{time}th')} time"


def list_possible(recruitment: Recruitment) -> set[Outcome]:
    """Return the outcomes that people of this round can come to, as the study is set up."""
    study = recruitment.study
    never = {
        Outcome.SCREENED_OUT: not is_screened(study),
        Outcome.FAILED_CHECK: not (study.is_check_on or study.is_qualification_on),
        Outcome.WRONG_DEVICE: not recruitment.refuses_phones,
    }
    return {outcome for outcome in Outcome if not never.get(outcome)}


def is_screened(study: Study) -> bool:
    """Return whether answers before the work, or earlier studies, keep people out."""
    is_asked = study.is_eligibility_on and study.config.eligibility is not None
    return is_asked or has_rules(study)


def store_open_link(study: Study) -> Recruitment:
    """Return the round of the study's own link, stored."""
    recruitment = Recruitment.objects.open_link(study)
    if recruitment._state.adding:
        recruitment.save(force_insert=True)
    return recruitment


@transaction.atomic
def change_recruitment(
    *,
    recruitment: Recruitment,
    values: Mapping[str, Any],
    links: Mapping[Outcome, str],
    codes: Mapping[Outcome, str | bool],
    by: Any,
) -> None:
    """Save the settings of a round and the links and codes of its outcomes.

    `codes`: the researcher's own one, or whether the outcome has one of random letters.
    """
    for name, value in values.items():
        setattr(recruitment, name, value)
    recruitment.save(update_fields=[*values])
    for outcome, link in links.items():
        _store_code(recruitment, outcome, link=link)
    for outcome, code in codes.items():
        if code is True:
            create_code(recruitment=recruitment, outcome=outcome)
        else:
            _store_code(recruitment, outcome, code=code or "")
    for outcome, leaves in recruitment.adapter.exits.items():
        if leaves.starts_with_code:
            create_code(recruitment=recruitment, outcome=outcome)
    if recruitment.is_on:
        refuse_unready(recruitment)
    _record("round changed", recruitment, by)


@transaction.atomic
def create_code(*, recruitment: Recruitment, outcome: Outcome) -> None:
    """Give the outcome a code of random letters, unless it has one."""
    if recruitment.codes.filter(outcome=outcome).exclude(code="").exists():
        return
    for _ in range(_TRIES):
        try:
            with transaction.atomic():
                _store_code(recruitment, outcome, code=make_outcome_code())
                return
        except IntegrityError:
            continue
    raise ValidationError("No code could be made. Try again.", code="no_code")


def _store_code(recruitment: Recruitment, outcome: Outcome, **values: str) -> None:
    OutcomeCode.objects.update_or_create(recruitment=recruitment, outcome=outcome, defaults=values)


@transaction.atomic
def turn_on(*, recruitment: Recruitment, by: Any) -> None:
    """Let new people arrive by this round's link."""
    refuse_unready(recruitment)
    if recruitment.has_link:
        _require_consent_page(recruitment.study, by=by)
    Recruitment.objects.filter(pk=recruitment.pk).update(is_on=True)
    _record("round turned on", recruitment, by)
    set_default_checks(recruitment.study, by=by)


def _require_consent_page(study: Study, *, by: Any) -> None:
    """Have people agree on a page: a draft changes to it, a launched study has to be changed."""
    current = Study.objects.select_for_update().get(pk=study.pk)
    if not current.has_notice:
        return
    if current.is_launched:
        raise ValidationError(
            "People who come by this link agree on a consent page, and this study has a short "
            "notice. Choose the page under What people read, then turn this on.",
            code="notice",
        )
    change_settings(study=current, values={"has_notice": False}, by=by)
    study.has_notice = False


def set_default_checks(study: Study, *, by: Any) -> None:
    """Have each person get checks once a draft has some and a panel is on, unless somebody chose.

    A number that was changed by hand stays, and the log has it.
    """
    if study.version_id is not None or study.checks_per_person:
        return
    rounds = study.recruitments.filter(is_on=True).exclude(number=0)
    checks = study.items.filter(kind__in=(Item.Kind.GOLD, Item.Kind.ATTENTION))
    if not any(recruitment.has_link for recruitment in rounds) or not checks.exists():
        return
    changes = AuditEntry.objects.filter(study_id=study.pk, action="settings changed")
    if any("checks_per_person" in change.detail.get("fields", ()) for change in changes):
        return
    change_settings(study=study, values={"checks_per_person": CHECKS_WITH_A_PANEL}, by=by)
    study.checks_per_person = CHECKS_WITH_A_PANEL


def turn_off(*, recruitment: Recruitment, by: Any) -> None:
    """Let nobody new in by this round's link; people who have started go on."""
    Recruitment.objects.filter(pk=recruitment.pk).update(is_on=False)
    _record("round turned off", recruitment, by)


def refuse_unready(recruitment: Recruitment) -> None:
    """Raise ValidationError with all that keeps this round from being turned on."""
    problems = find_obstacles(recruitment, recruitment.codes.all())
    if problems:
        raise ValidationError(problems)


def find_obstacles(recruitment: Recruitment, codes: Iterable[OutcomeCode]) -> list[ValidationError]:
    """Return what keeps this round, with these codes, from being turned on."""
    platform, study = recruitment.adapter, recruitment.study
    problems = []
    settings = recruitment.platform_settings
    if missing := [o.label for o in platform.settings if o.is_required and not settings[o.name]]:
        words = f"Fill in {list_of([f'“{label}”' for label in missing])}."
        problems.append(ValidationError(words, code="settings"))
    stored = {code.outcome: code for code in codes}
    done, leaves = stored.get(Outcome.COMPLETED), platform.exits[Outcome.COMPLETED]
    if not leaves.has_set_code and not (done and (done.link or done.code)):
        mend = ", or create a code." if leaves.takes_code else "."
        problems.append(
            ValidationError(
                f"People who finish have nothing to take back to {platform.label}. Paste its link "
                f"for completed work{mend}",
                code="no_way_back",
            )
        )
    out = stored.get(Outcome.SCREENED_OUT)
    if platform.needs_screen_out_code and is_screened(study) and not (out and out.code):
        problems.append(
            ValidationError(
                "You screen people but have no screen-out code. Save this page once: it makes one.",
                code="no_screen_out_code",
            )
        )
    return [*problems, *_find_low_pay(recruitment)]


def _find_low_pay(recruitment: Recruitment) -> list[ValidationError]:
    """Return what is wrong with the reward, on a platform that sets a least one."""
    platform, currency = recruitment.adapter, recruitment.study.currency
    hourly, least = hourly_pay(recruitment.study), platform.least_pay.get(currency)
    minimum = "" if least is None else format_money(Decimal(str(least)), currency)
    if platform.least_pay and hourly is None:
        rule = f": {platform.label} requires {minimum} an hour." if minimum else "."
        words = f"Enter the pay under Work{rule}"
        return [ValidationError(words, code="no_reward")]
    if least is None or hourly is None or hourly >= least:
        return []
    words = (
        f"You pay {format_money(hourly, currency)} an hour. {platform.label} requires {minimum}."
    )
    return [ValidationError(words, code="low_pay")]


# --- bonuses ----------------------------------------------------------------------------


def list_due_bonuses(recruitment: Recruitment) -> QuerySet[Visit]:
    """Return the visits whose bonus isn't marked as paid."""
    due = recruitment.visits.filter(bonus__isnull=False, bonus_marked_at__isnull=True)
    return due.order_by("id")


# --- personal links -------------------------------------------------------------------

LINKS_VIEWED = "links viewed"


@transaction.atomic
def renew_personal_link(*, link: PersonalLink, generation: int, by: Any) -> None:
    """Give a person another link; the one of this generation ends.

    Nothing changes if it has ended already: someone else renewed it.
    """
    current = PersonalLink.objects.select_for_update(no_key=True).get(pk=link.pk)
    if current.generation != generation:
        return
    old_hash = current.token_hash
    current.generation += 1
    current.token_hash = hash_token(current.derive_token())
    current.save(update_fields=["generation", "token_hash"])
    ParticipantLink.objects.filter(token_hash=old_hash, study=current.study_id).update(
        token_hash=current.token_hash
    )
    _record("personal link renewed", current.recruitment, by, number=current.number)


def record_look_at_links(*, study: Study, links: int, by: Any, **detail: Any) -> None:
    """Log that links were shown, with which one could act for the people invited."""
    if links:
        AuditEntry.objects.record(LINKS_VIEWED, by=by, study_id=study.pk, links=links, **detail)


def _record(action: str, recruitment: Recruitment, by: Any, **detail: Any) -> None:
    AuditEntry.objects.record(
        action, by=by, study_id=recruitment.study_id, round=recruitment.number, **detail
    )
