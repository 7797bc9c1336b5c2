"""The metrics of a gateway that runs, scraped as Prometheus does it."""

from prometheus_client.parser import text_string_to_metric_families as parse_text

from loopback import Answer, Gateway, ask

__all__ = ["Samples", "samples", "scrape"]


async def scrape(running: Gateway, *, accept: str = "*/*", path: str = "/metrics") -> Answer:
    got = await ask(running, "GET", path, headers=[("Accept", accept)], body=b"")
    assert got.status == 200
    return got


class Samples:
    """The samples of one scrape."""

    def __init__(self, text: str) -> None:
        self.families = {family.name: family for family in parse_text(text)}
        self._all = [sample for family in self.families.values() for sample in family.samples]

    def get(self, name: str, **labels: str) -> float:
        """The sum over all samples that have these labels."""
        name = f"streamweir_{name}"
        return sum(
            sample.value
            for sample in self._all
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    def label_values(self, label: str) -> set[str]:
        return {sample.labels[label] for sample in self._all if label in sample.labels}


async def samples(running: Gateway) -> Samples:
    return Samples((await scrape(running)).body.decode())
