from django.apps import AppConfig


class PeopleConfig(AppConfig):
    name = "evalsite.people"
    label = "participants"

    def ready(self) -> None:
        from evalsite.people import joins  # noqa: F401, PLC0415 (registers its task)
