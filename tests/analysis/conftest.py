"""One thread of linear algebra for each test: many cost more than they bring on small tables."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
