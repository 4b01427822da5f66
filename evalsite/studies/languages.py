"""Languages: their English names, and which one the texts of a study are probably in."""

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache

from django.conf.locale import LANG_INFO

from evalsite.studies.models import Output, Study

_SAMPLE = 30
# of the words of a text, how many have to be among the frequent ones of a language, and how much
# more of them than of the next one
_LEAST_WORDS, _LEAST_SHARE, _AHEAD = 20, 0.15, 1.5
_LEAST_DIFFERENT = 3
# words that nearly every paragraph of a language has, and that others hardly have
_FREQUENT = {
    "da": "og det er på ikke til af for jeg med der den har som et en",
    "de": "der die und das ist nicht ein eine zu den mit auf für von sich im dem auch wird",
    "en": "the of and to a in is that it for was on with as are be this by at not from",
    "es": "de la que el en y los se del las por un para con una su al es lo como más pero",
    "fi": "ja on ei se että oli hän mutta ovat kun myös sekä tai joka mukaan",
    "fr": "de la le et les des en un du une que est pour qui dans par plus pas au sur ne il",
    "it": "di e il la che un per in è una sono con non del della le si da al dei come",
    "nl": "de het een van en in is dat op te zijn voor met niet aan er om ook als door",
    "pl": "w i na z do nie się jest że to o jak za od po przez dla oraz są ale",
    "pt": "de a o que e do da em um para com não uma os no se na por mais as dos ao",
    "sv": "och i att det som en på är av för med den till inte om ett har de var",
}  # fmt: skip
_WORDS = {code: frozenset(words.split()) for code, words in _FREQUENT.items()}
# scripts that one language has to itself, or nearly so
_SCRIPTS = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("ko", re.compile(r"[\uac00-\ud7af]")),
    ("zh", re.compile(r"[\u4e00-\u9fff]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
    ("he", re.compile(r"[\u0590-\u05ff]")),
    ("th", re.compile(r"[\u0e00-\u0e7f]")),
)
_LETTERS = re.compile(r"[^\W\d_]+")


@cache
def list_languages() -> list[tuple[str, str]]:
    """Return codes of languages with their English names, by name."""
    names = {code: about["name"] for code, about in LANG_INFO.items() if "name" in about}
    return sorted(names.items(), key=lambda pair: pair[1])


def name_language(code: str) -> str:
    """Return the English name of a language, or its code if it has none here."""
    return dict(list_languages()).get(code.lower(), code)


def guess_language(texts: Iterable[str]) -> str:
    """Return the code of the language that these texts are in; "" if it isn't clear."""
    text = " ".join(texts).lower()
    words = _LETTERS.findall(text)
    letters = sum(map(len, words))
    for code, script in _SCRIPTS:
        # a Japanese text has characters of Chinese, never the other way round
        if len(script.findall(text)) > letters * (0.1 if code == "ja" else 0.5):
            return code
    if len(words) < _LEAST_WORDS:
        return ""
    counts = Counter({code: sum(word in known for word in words) for code, known in _WORDS.items()})
    (code, most), (_, second) = counts.most_common(2)
    is_varied = len(_WORDS[code] & set(words)) >= _LEAST_DIFFERENT
    is_clear = most >= _LEAST_SHARE * len(words) and most >= _AHEAD * second and is_varied
    return code if is_clear else ""


def guess_language_of(study: Study) -> str:
    """Return the language of a draft's outputs until its settings are saved; "" if unclear."""
    if study.version_id is not None or study.revision or study.language != study.config.language:
        return ""
    outputs = Output.objects.stored().filter(study=study, system__isnull=False).order_by("pk")
    return guess_language(outputs.values_list("text", flat=True)[:_SAMPLE])
