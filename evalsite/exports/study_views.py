"""Staff pages of what goes out: files, codebook and bundles."""

from evalsite.exports import views  # noqa: F401 (pages that register themselves)
from evalsite.exports.bundle import (  # noqa: F401 (as above)
    anonymous_views,
    dataset_views,
    public_views,
)
from evalsite.exports.bundle import views as bundle_views  # noqa: F401 (as above)
