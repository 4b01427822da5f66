"""Which questions of a page were asked: optional ones, those that depend on others, comments."""

from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from evalsite.annotation.pages.view_models import question_names
from evalsite.protocol import Criterion
from evalsite.protocol.parts import COMMENT

if TYPE_CHECKING:
    from evalsite.annotation.pages.forms import RatingForm

_Given = dict[str, dict[int, tuple[object, ...] | None]]


def settle_questions(form: "RatingForm") -> None:
    """Decide on the cleaned answers what was asked.

    What was not asked has no answer, whatever was sent. An answer that may be missing is None.
    """
    given: _Given = {}
    for name, criterion, number in question_names(form.config, form.outputs, form.criteria):
        comment = f"{name}.{COMMENT}"
        # the only output is that of all questions
        at = 0 if number == 1 == form.outputs and not criterion.per_turn else number
        given.setdefault(criterion.key, {})[at] = None
        if not _is_asked(criterion, at, given):
            for one in (name, comment):
                form.errors.pop(one, None)
            form.cleaned_data[name] = None
            form.cleaned_data.pop(comment, None)
            continue
        if not criterion.is_required and _is_missing(form, name):
            form.errors.pop(name, None)
            form.cleaned_data[name] = None
        answer = form.cleaned_data.get(name)
        if answer is not None:
            given[criterion.key][at] = criterion.scale.list_tested(answer)
        _settle_comment(form, criterion, at, name, given)


def _is_asked(criterion: Criterion, number: int, given: _Given) -> bool:
    condition = criterion.ask_if
    return condition is None or condition.is_met(given, number)


def _is_missing(form: "RatingForm", name: str) -> bool:
    errors = form.errors.get(name)
    return errors is not None and all(one.code == "required" for one in errors.as_data())


def _settle_comment(
    form: "RatingForm", criterion: Criterion, number: int, name: str, given: _Given
) -> None:
    """Refuse a comment that is missing though it has to be written."""
    comment, field = criterion.comment, f"{name}.{COMMENT}"
    if comment is None or not comment.is_required or field in form.errors:
        return
    if form.cleaned_data.get(field, "").strip() or form.cleaned_data.get(name) is None:
        return
    if comment.if_met is None or comment.if_met.is_met(given, number):
        form.add_error(
            field,
            _("Write a comment on %(criterion)s") % {"criterion": criterion.label.lower()},
        )
