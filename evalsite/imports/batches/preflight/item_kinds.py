"""Items of a kind that the settings of the study decide about."""

from evalsite.imports.batches.items import CheckedItem
from evalsite.imports.batches.preflight.check import Check
from evalsite.studies.models import Item

# dealt between the others, if the study asks for that
_CHECKS = {str(Item.Kind.GOLD), str(Item.Kind.ATTENTION)}


class ItemKinds(Check):
    """Checks and gold items, which come only if the study asks for them."""

    def add(self, item: CheckedItem) -> None:
        if item.kind not in _CHECKS:
            return
        every = self.context.study.check_every
        what = (
            f"come as checks, one after every {every} items of a set, and never count"
            if every
            else "nobody gets while the settings ask for no checks"
        )
        message = f"Items of kind {item.kind}, which {what}"
        self.remarks.add("checks", message, item.line, item.record, self.context.kind_column)
