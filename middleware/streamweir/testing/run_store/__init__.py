"""The rules for every store of runs, as tests that its author inherits."""

from streamweir.testing.run_store.events import EventRules
from streamweir.testing.run_store.lifetimes import LifetimeRules
from streamweir.testing.run_store.ownership import OwnershipRules
from streamweir.testing.run_store.reading import ReadingRules
from streamweir.testing.run_store.values import ValueRules

__all__ = ["RunStoreConformance"]


class RunStoreConformance(EventRules, LifetimeRules, OwnershipRules, ReadingRules, ValueRules):
    """A mix-in with the tests for a store: inherit it as `class TestAcmeStore(RunStoreConformance)` and
    define `make_store`; pytest collects the tests.

    Each test runs in a separate event loop. Some tests wait for the end of a lease, so give the store a short
    `lease`.
    """
