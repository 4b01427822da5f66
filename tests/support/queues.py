"""The queue of jobs in tests: it is the real one, and worked off when a test says so."""

from django_tasks import TaskContext
from django_tasks_db.models import DBTaskResult


def run_waiting_jobs() -> None:
    """Everything that waited in the queue has run, as by a job worker."""
    for waiting in DBTaskResult.objects.ready():
        waiting.claim("the worker of this test")
        context = TaskContext(task_result=waiting.task_result)
        waiting.set_successful(waiting.task.call(context, *waiting.task_result.args))
