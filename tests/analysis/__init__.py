"""The numbers package: its own tests, on arrays and the reference vectors."""

import os

# Small products of matrices are many times slower on several threads of a busy machine.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
