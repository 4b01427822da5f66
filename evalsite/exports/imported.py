"""What pages say of ratings that were collected elsewhere."""

from django.db.models import Count
from django.utils.formats import date_format

from evalsite.annotation.models import Annotation, RatingsFile
from evalsite.studies.models import Study
from evalsite.studies.summaries import count_of


def tell_imports(study: Study) -> list[str]:
    """For each file of ratings collected elsewhere a sentence that says so."""
    files = RatingsFile.objects.filter(study=study)
    answers = Annotation.objects.filter(study=study, ratings_file__isnull=False).order_by()
    counts = dict(answers.values_list("ratings_file").annotate(n=Count("pk")))
    return [
        f"{count_of(n, 'answer')} {'was' if n == 1 else 'were'} imported from {file.file_name} on "
        f"{date_format(file.uploaded_at, 'j F Y')}."
        + ("" if file.has_persons else " Its participants are not single persons.")
        for file in files
        if (n := counts.get(file.pk, 0))
    ]
