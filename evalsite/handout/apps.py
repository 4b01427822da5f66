from django.apps import AppConfig


class HandoutConfig(AppConfig):
    name = "evalsite.handout"
    label = "annotation"
