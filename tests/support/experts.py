"""Experts in tests: inviting them, and their way through a study in a browser without scripts."""

import re

from evalsite.fieldwork.invitations import Named, Terms, invite_people
from evalsite.people.models import Expert
from evalsite.studies.models import Study
from tests.support.annotators import read_fields
from tests.support.factories import make_user
from tests.support.rounds import SPEAKER
from tests.support.tabs import Tab

NAMES = ("Ana Costa", "Ben Okafor", "Chen Li")
HOST = "https://eval.example.org/"


def address_of(name: str) -> str:
    return f"{name.split()[0].lower()}@example.org"


def invite(study: Study, *names: str, by=None, **terms) -> list[Expert]:
    """Invite these people; return everyone who is invited to the study."""
    people = [Named(name, address_of(name)) for name in names or NAMES]
    invite_people(
        study=study, people=people, terms=Terms(**terms), site_address=HOST, by=by or make_user()
    )
    return list(study.experts.order_by("pk"))


class Visitor(Tab):
    """An expert with their link, in a browser without scripts."""

    def __init__(self, expert: Expert) -> None:
        super().__init__(expert.link.participant, f"/p/{expert.link.token}/")

    def arrive(self) -> "Visitor":
        self.client.post(self.home)
        form = read_fields(self.client.get(f"{self.home}consent/").text)
        self.client.post(f"{self.home}consent/", form | {"go": "agree"})
        self.client.post(f"{self.home}questions/", SPEAKER)
        self.client.post(f"{self.home}instructions/")
        self.me.refresh_from_db()
        return self

    def work(self, most: int = 1) -> int:
        """Rate up to so many items, set after set; return how many were rated."""
        done = 0
        while done < most and self.me.item_sets.count() < 50:
            page = self.client.get(self.home, follow=True)
            where = page.redirect_chain[-1][0].removeprefix(self.home)
            if where in ("start/", "finish/"):
                self.client.post(f"{self.home}start/")
                where = self.client.get(self.home, follow=True).redirect_chain[-1][0]
                where = where.removeprefix(self.home)
            if match := re.fullmatch(r"sets/(\d+)/items/(\d+)/", where):
                self.open(int(match[2]), number=int(match[1]))
                names = {one: "90" for one in self.fields if "informativeness" in one}
                to = self.address_of(int(match[2]), int(match[1]))
                self.client.post(to, {**self.fields, **names, "go": "next"})
                done += 1
            elif where.endswith("/review/"):
                self.client.post(f"{self.home}{where}")
            else:
                break
        page = self.client.get(self.home, follow=True).redirect_chain[-1][0]
        if page.endswith("/review/"):
            self.client.post(page)
        return done
