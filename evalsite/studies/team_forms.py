"""Forms of a study's team, and the one that accepts an invitation."""

from typing import Any
from uuid import uuid4

from django import forms
from django.contrib.auth.forms import UserCreationForm
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from evalsite.studies.members import StepDown
from evalsite.studies.models import Membership, TeamRole

_SUBJECT = {
    TeamRole.VIEWER: "Sees progress and results, and downloads files without identities.",
    TeamRole.EDITOR: "Also sets up and runs the study. Participants appear under pseudonyms.",
    TeamRole.EDITOR_WITH_IDENTITIES: (
        "Also sees identities, receipts, and what people said about themselves."
    ),
    TeamRole.OWNER: "Also launches, closes, archives and deletes the study, and changes the team.",
}
ROLE_CHOICES = [(role.value, f"{role.label}. {_SUBJECT[role]}") for role in TeamRole]


class RoleForm(forms.Form):
    role = forms.ChoiceField(label="Role", choices=ROLE_CHOICES, widget=forms.RadioSelect)

    def clean_role(self) -> TeamRole:
        return TeamRole(self.cleaned_data["role"])


class InviteForm(RoleForm):
    """Whom to invite. The key makes a form that is sent twice one invitation."""

    key = forms.UUIDField(widget=forms.HiddenInput)
    label = forms.CharField(
        label="Who it is for (optional)",
        max_length=120,
        required=False,
        help_text="A name or an e-mail address, so that your team can tell the links apart. "
        "Nothing is sent: copy the link and send it yourself.",
    )
    field_order = ("label", "role", "key")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial.setdefault("key", uuid4())
        self.initial.setdefault("role", TeamRole.VIEWER.value)


class HandOverForm(forms.Form):
    """Who becomes an owner, and what becomes of the one who hands over."""

    to = forms.ModelChoiceField(
        label="New owner", queryset=Membership.objects.none(), empty_label=None
    )
    step_down = forms.ChoiceField(
        label="And you",
        choices=[
            (StepDown.OWNER.value, "Stay an owner too"),
            (StepDown.EDITOR.value, "Stay as an editor, without identities"),
            (StepDown.LEAVE.value, "Leave the study"),
        ],
        initial=StepDown.OWNER.value,
        widget=forms.RadioSelect,
    )

    def __init__(self, *args: Any, others: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["to"]
        field.queryset = others
        field.label_from_instance = lambda membership: membership.user.get_username()

    def clean_step_down(self) -> StepDown:
        return StepDown(self.cleaned_data["step_down"])


class AccountForm(UserCreationForm[User]):
    """A user name and a password; the account may sign in and has no other rights."""

    class Meta:
        model = User
        fields = ("username",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # the page says first what the invitation is to
        self.fields["username"].widget.attrs.pop("autofocus", None)
        self.fields["username"].help_text = "Your team sees it, with what you do in the log."
        self.fields[
            "password1"
        ].help_text = "At least 12 characters. Four unrelated words work well."
        self.fields["password2"].label = "Password again"
        self.fields["password2"].help_text = ""

    def save(self, commit: bool = True) -> User:
        self.instance.is_staff = True
        return super().save(commit)

    def create_account(self) -> User | None:
        """Return the new account; None, with an error, if its name was taken meanwhile."""
        try:
            with transaction.atomic():
                return self.save()
        except IntegrityError:
            self.add_error("username", "This user name has just been taken. Choose another one.")
            return None
