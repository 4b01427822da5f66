"""Forms of a study's team, and the one that accepts an invitation."""

from typing import Any
from uuid import uuid4

from django import forms
from django.contrib.auth.forms import UserCreationForm
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from evalsite.core.accounts.lockout import find_accounts
from evalsite.core.accounts.researchers import make_researcher
from evalsite.core.mail import is_mail_on
from evalsite.instruments.fields import SentField, SentForm
from evalsite.studies.forms import use_our_words
from evalsite.studies.members import StepDown
from evalsite.studies.models import Membership, TeamRole

_SUBJECT = {
    TeamRole.VIEWER: "Sees progress and results, and downloads files without identities.",
    TeamRole.EDITOR: "Also sets up and runs the study. People appear under pseudonyms.",
    TeamRole.EDITOR_WITH_IDENTITIES: (
        "Also sees identities, receipts, and what people said about themselves."
    ),
    TeamRole.OWNER: "Also launches, closes, archives and deletes the study, and changes the team.",
}
ROLE_CHOICES = [(role.value, f"{role.label}. {_SUBJECT[role]}") for role in TeamRole]


def describe_sending() -> str:
    """Return what becomes of the link, by whether this site sends e-mail."""
    if is_mail_on():
        return "We e-mail the link to an address. For a name, copy the link and send it yourself."
    return "So that your team can tell the links apart. Copy the link and send it yourself."


class NoteForm(forms.Form):
    """The team's own note on a study, which its datasheet prints."""

    description = forms.CharField(
        label="Note for colleagues",
        required=False,
        max_length=5000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="People who rate never see it. The datasheet prints it.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        use_our_words(self.fields.values())

    def clean_description(self) -> str:
        # browsers send CRLF
        return str(self.cleaned_data["description"]).replace("\r\n", "\n")


class RoleForm(forms.Form):
    role = forms.ChoiceField(label="Role", choices=ROLE_CHOICES, widget=forms.RadioSelect)

    def clean_role(self) -> TeamRole:
        return TeamRole(self.cleaned_data["role"])


class InviteForm(RoleForm):
    """Whom to invite. The key makes a form that is sent twice one invitation."""

    key = forms.UUIDField(widget=forms.HiddenInput)
    label = forms.CharField(
        label="E-mail address or name",
        max_length=120,
        required=False,
    )
    field_order = ("label", "role", "key")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial.setdefault("key", uuid4())
        self.initial.setdefault("role", TeamRole.VIEWER.value)
        self.fields["label"].help_text = describe_sending()


class RenewForm(forms.Form):
    """Which link of an invitation is replaced: the one that the page showed."""

    generation = forms.RegexField(r"\A[0-9]{1,9}\Z")


class WithdrawForm(SentForm):
    """The invitation to the site that is withdrawn, if that button was pressed."""

    withdraw = SentField()


class AnswerForm(SentForm):
    """What the person who opened an invitation does: make an account, or use theirs."""

    do = SentField()


class ResearcherForm(forms.Form):
    """Whom to invite to the site."""

    key = forms.UUIDField(widget=forms.HiddenInput)
    label = forms.CharField(label="E-mail address or name", max_length=120, required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial.setdefault("key", uuid4())
        self.fields["label"].help_text = describe_sending()


class HandOverForm(forms.Form):
    """Who becomes an owner, and what becomes of the one who hands over."""

    to = forms.ModelChoiceField(
        label="New owner",
        queryset=Membership.objects.none(),
        empty_label="Choose a member",
        error_messages={"required": "Choose who becomes an owner."},
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

    def __init__(self, *args: Any, members: Any, is_member: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not is_member:  # an administrator has no role to step down from
            del self.fields["step_down"]
        field: Any = self.fields["to"]
        field.queryset = members
        field.label_from_instance = _name_member

    def clean_step_down(self) -> StepDown:
        return StepDown(self.cleaned_data["step_down"])


def _name_member(membership: Membership) -> str:
    user = membership.user
    name, known_as = user.get_full_name(), user.get_username()
    return f"{name} ({known_as})" if name else known_as


class AccountForm(UserCreationForm[User]):
    """A user name and a password of a new researcher, who needs no other rights."""

    class Meta:
        model = User
        fields = ("first_name", "email", "username")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["first_name"].label = "Your name"
        self.fields["first_name"].help_text = "Shown to your team and with your notes."
        self.fields["email"].label = "E-mail"
        self.fields["email"].help_text = "You can sign in with it. Only your teams see it."
        # the page says first what the invitation is to
        self.fields["username"].widget.attrs.pop("autofocus", None)
        self.fields["username"].label = "User name"
        self.fields["username"].help_text = "For signing in and in the log."
        self.fields["password1"].help_text = (
            "At least 12 characters, 5 of them different, without your user name. "
            "Four unrelated words work well."
        )
        self.fields["password2"].label = "Password again"
        self.fields["password2"].help_text = ""
        use_our_words(self.fields.values())

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"].lower()
        if email and find_accounts(email).exists():
            raise forms.ValidationError("Another account uses this address.", code="taken")
        return email

    def clean_username(self) -> str:
        username: str = super().clean_username()
        if username and find_accounts(username).exists():
            raise forms.ValidationError("This user name is taken.", code="taken")
        return username

    def create_account(self) -> User | None:
        """Return the new account; None, with an error, if its name was taken meanwhile."""
        try:
            with transaction.atomic():
                user = self.save()
                make_researcher(user)
                return user
        except IntegrityError:
            self.add_error("username", "This user name has just been taken. Choose another one.")
            return None
