"""What processes left behind that were killed before they could clean up."""

from datetime import timedelta

from django.conf import settings

from evalsite.core.jobs.schedule import HOURLY, scheduled
from evalsite.lib.old_files import delete_older

# longer than any job takes
_LEFT_FOR = timedelta(days=1)


@scheduled("Delete temporary files that were left", every=HOURLY, is_deleting=True)
def delete_left_files() -> str:
    """Delete temporary files and folders in the data folder: their names all begin with tmp."""
    deleted = delete_older(settings.DATA_DIR.glob("tmp*"), _LEFT_FOR)
    return f"{deleted} deleted" if deleted else ""
