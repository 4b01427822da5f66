"""Numbers only: agreement, comparison, planning. No Django, no database, no drawing.

The tables are small and the machines are shared, so the linear algebra keeps to one thread: with
two it took five times as long. It must be said before numpy is imported; who knows better sets
OPENBLAS_NUM_THREADS.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
