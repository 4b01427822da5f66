from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "evalsite.jobs"
