"""Words that name people, institutions and sites, and what an anonymous bundle says instead."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from unicodedata import east_asian_width
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import Q, QuerySet

from evalsite.data.bundle.data_package import read_authors
from evalsite.data.models import MetricFile
from evalsite.decisions.models import AnalysisPlan, Exclusion
from evalsite.handout.models import RatingsFile
from evalsite.studies.models import Batch, Invitation, Membership, Study, System
from evalsite.studies.versions import build_content

# by what is replaced: each is valid wherever the original may be written
PERSON, INSTITUTION, OTHER = "Researcher", "Institution", "Withheld"
EMAIL, HOST, LINK = "removed@example.org", "example.org", "https://example.org/removed"
SHORTEST, LONGEST = 2, 200
LONGEST_NAME = 4
_COMMON = {"the", "and", "for", "our"}
_EMAILS = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+")
_LINKS = re.compile(r"https?://[^\s<>()\[\]\"'`]+[^\s<>()\[\]\"'`.,;:!?]")
# names of this machine, which say nothing about whose it is
_NAMELESS = {"*", "localhost", "127.0.0.1", "::1", "testserver"}


class Replacer:
    """Replaces whole words, whatever their case, the longest first, and counts them."""

    def __init__(self, words: Mapping[str, str]) -> None:
        self.counts: Counter[str] = Counter()
        self._terms = {term.casefold(): term for term in words}
        self._words = words
        longest = sorted(words, key=lambda term: (-len(term), term))
        self._pattern = re.compile(
            "|".join(_bound(term) for term in longest) or r"(?!)", re.IGNORECASE
        )

    def replace(self, value: Any) -> Any:
        """Return a text, or plain data with all of its texts, without these words."""
        if isinstance(value, str):
            return self._pattern.sub(self._put, value)
        if isinstance(value, dict):
            return {name: self.replace(part) for name, part in value.items()}
        if isinstance(value, list):
            return [self.replace(part) for part in value]
        return value

    def count(self, text: str) -> Counter[str]:
        """Count the words in a text."""
        return Counter(self._name(match) for match in self._pattern.finditer(text))

    def _put(self, match: re.Match[str]) -> str:
        term = self._name(match)
        self.counts[term] += 1
        return self._words[term]

    def _name(self, match: re.Match[str]) -> str:
        # the case of some letters, such as İ, isn't undone by folding it
        return self._terms.get(match[0].casefold(), next(iter(self._words)))


def _bound(term: str) -> str:
    """Return a pattern of the term that doesn't begin or end inside another word."""
    start = r"(?<![^\W_])" if _has_bounds(term[0]) else ""
    end = r"(?![^\W_])" if _has_bounds(term[-1]) else ""
    return f"{start}{re.escape(term)}{end}"


def _has_bounds(letter: str) -> bool:
    """Whether words with this letter are separated from others: not so in Chinese or Japanese."""
    return letter.isalnum() and east_asian_width(letter) not in "WF"


# --- what there is to replace --------------------------------------------------------------


def find_words(study: Study) -> dict[str, str]:
    """Return names, addresses and links in the study's texts, each with a neutral word."""
    # pages of a study leave out its texts
    study = Study.objects.select_related("instrument", "version").get(pk=study.pk)
    texts = list(_read_texts(study))
    joined = "\n".join(texts)
    named = {
        term: word
        for term, word in _list_names(study)
        if len(term) >= SHORTEST and Replacer({term: word}).count(joined)
    }
    links = {link: LINK for link in _LINKS.findall(joined)}
    hosts = {host: HOST for link in links if (host := urlsplit(link).hostname)}
    emails = {email: EMAIL for email in _EMAILS.findall(joined)}
    words: dict[str, tuple[str, str]] = {}
    for term, word in (named | hosts | links | emails).items():
        words.setdefault(term.casefold(), (term[:LONGEST], word))
    return dict(words.values())


def _list_names(study: Study) -> Iterator[tuple[str, str]]:
    """List how people, institutions and sites may be named."""
    yield study.organisation.strip(), INSTITUTION
    yield study.responsible.strip(), INSTITUTION
    yield study.ethics_approval.strip(), INSTITUTION
    yield study.complaints.strip(), EMAIL
    yield study.contact_email.strip(), EMAIL
    for author in read_authors(study.authors):
        yield from _name_person(author.name, "")
    members = Membership.objects.filter(study=study).select_related("user").order_by("id")
    for member in members:
        user = member.user
        yield from _name_person(user.get_full_name(), user.email)
        yield user.get_username(), PERSON
    invited = Invitation.objects.filter(study=study).order_by("created_at")
    for label in invited.values_list("label", flat=True):
        yield from _name_person(*(("", label) if "@" in label else (label, "")))
    site = urlsplit(settings.SITE_ADDRESS).hostname or ""
    for host in dict.fromkeys([site, *(host.lstrip(".") for host in settings.ALLOWED_HOSTS)]):
        if host not in _NAMELESS:
            yield host, HOST


def _name_person(name: str, email: str) -> Iterator[tuple[str, str]]:
    yield email.strip(), EMAIL
    yield name.strip(), PERSON
    parts = name.split()
    if 1 < len(parts) <= LONGEST_NAME:  # more words are a sentence, such as a team about itself
        yield from ((part, PERSON) for part in parts if _is_distinct(part))


def _is_distinct(part: str) -> bool:
    """Whether a part of a name is more than a word of any text: not so with one letter or two."""
    return len(part.strip(".")) > 2 and part.casefold() not in _COMMON


def _read_texts(study: Study) -> Iterator[str]:
    """Read what researchers wrote, apart from inputs and outputs."""
    yield from (study.title, study.organisation, study.contact_email)
    yield from (study.summary, study.consent, study.instructions)
    yield from (study.responsible, study.complaints, study.ethics_approval)
    yield from (study.content_warning, _write(study.questions), _write(study.options))
    if study.instrument is not None:
        yield _write(study.instrument.content)
    contents = [version.content for version in study.versions.all()] or [build_content(study)]
    for content in contents:
        yield from content["texts"].values()
    yield from _list_short_texts(study)
    for plan in AnalysisPlan.objects.filter(study=study):
        yield plan.exclusion_rule


def _list_short_texts(study: Study) -> Iterable[str]:
    """List names of systems and files, and reasons."""
    systems: QuerySet[Any, Any] = System.objects.filter(study=study).values_list("name")
    of_people = Q(study=study) & ~Q(reason="")
    rest = [
        model._default_manager.filter(study=study).values_list("file_name")
        for model in (Batch, RatingsFile, MetricFile)
    ]
    reasons = Exclusion.objects.filter(of_people).values_list("reason")
    return (text for (text,) in systems.order_by().union(*(query.order_by() for query in rest),
                                                         reasons.order_by()))  # fmt: skip


def _write(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False)
