"""The rules for every store of runs, as tests that its author inherits."""

from streamweir.testing.run_store.events import EventRules
from streamweir.testing.run_store.lifetimes import LifetimeRules
from streamweir.testing.run_store.ownership import OwnershipRules
from streamweir.testing.run_store.reading import ReadingRules
from streamweir.testing.run_store.values import ValueRules

__all__ = ["RunStoreConformance"]


class RunStoreConformance(EventRules, LifetimeRules, OwnershipRules, ReadingRules, ValueRules):
    """Inherit it as `class TestAcmeStore(RunStoreConformance)`, give it `make_store`; pytest does the rest.

    Each test runs in an event loop of its own. A store with a short `lease` makes them short: some wait for
    its end.
    """
