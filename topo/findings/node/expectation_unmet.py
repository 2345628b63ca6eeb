# SPDX-License-Identifier: Apache-2.0
"""What is expected of a machine, by --expect or by the profile of its model, and what it has instead."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from railgauge.topo.expect.expectations import Expectation, Expectations, of_model
from railgauge.topo.expect.key import DOWN, KEYS, share_of_link, words
from railgauge.topo.expect.observed import observed, on_pci
from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.findings.cards.comparison import EXPECTATION_UNMET
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Need, Rule
from railgauge.topo.machine import Machine

HALF = 0.5  # of a link, from which on it is a fault as in pcie-link-degraded
HIDDEN = ": no RDMA driver is loaded, or this container is given no RDMA device"
COUNTS = ("gpus", "nics", "nvswitches")


def expectations(machine: Machine) -> Expectations:
    """Those of the machine's model, and over them those of its operator."""
    return of_model(machine.sources.of_all_gpus) | machine.expected


def _check(machine: Machine) -> Iterator[Finding]:
    wanted = expectations(machine).by_key
    facts = machine.sources.of_all_gpus
    found = [one for key in wanted for one in _judged(facts, key, wanted[key])]
    yield from found
    if found:
        return
    met: dict[str, list[str]] = defaultdict(list)
    for key, one in wanted.items():
        met[one.source].append(f"{key} {words(one.value)}{_seen_on_pci(facts, key, one)}")
    for source, keys in met.items():
        yield RULE.finding(Level.PASS, machine.host, f"as expected ({source}): {', '.join(keys)}", expected_by=source)


def _judged(facts: MachineFacts, key: str, one: Expectation) -> Iterator[Finding]:
    if one.unknown:
        yield RULE.unknown(key, f"{one.unknown} ({one.source})")
        return
    there = observed(key, facts)
    if not there.values and there.why:
        yield RULE.unknown(key, f"{key} {words(one.value)} expected ({one.source}); {there.why}")
    elif not there.values:
        yield _unmet(key, one, "none", _level(key, one, "0"), [])
    elif isinstance(one.value, str):
        yield from _each(facts, key, one, there.values)
    else:
        yield from _counted(key, one, there.values)


def _each(facts: MachineFacts, key: str, one: Expectation, values: Mapping[str, str | None]) -> Iterator[Finding]:
    """One finding for each value other than the expected one, with its devices."""
    odd: dict[str | None, list[str]] = defaultdict(list)
    for device, value in values.items():
        if value is None or not _meets(facts, key, one, value):
            odd[value].append(device)
    for value, devices in odd.items():
        named = [device for device in devices if device]
        if value is None:
            yield RULE.unknown(key, f"{key} {words(one.value)} expected ({one.source}), not known of {_listed(named)}")
        else:
            yield _unmet(key, one, value, _level(key, one, value), named)


def _meets(facts: MachineFacts, key: str, one: Expectation, value: str) -> bool:
    expected = words(one.value)
    if one.at_least and key in COUNTS:
        return max(int(value), on_pci(key, facts)) >= int(expected)
    return KEYS[key].meets(expected, value)


def _seen_on_pci(facts: MachineFacts, key: str, one: Expectation) -> str:
    """That devices are on PCI, where this process does not have them all."""
    there = observed(key, facts).values.get("") if one.at_least and key in COUNTS else None
    return " on PCI" if there is not None and int(there) < int(words(one.value)) else ""


def _counted(key: str, one: Expectation, values: Mapping[str, str | None]) -> Iterator[Finding]:
    """Whether as many devices as expected have each value."""
    if unread := [device for device, value in values.items() if value is None]:
        yield RULE.unknown(key, f"{key} {words(one.value)} expected ({one.source}), not known of {_listed(unread)}")
        return
    wanted = dict(one.value) if not isinstance(one.value, str) else {}
    there = Counter(_kind(key, value, wanted) for value in values.values() if value is not None)
    if there != Counter(wanted):
        yield _unmet(key, one, words(there), _worst(key, there, wanted), [])


def _kind(key: str, value: str, wanted: Iterable[str]) -> str:
    """The expected value that a found one meets, else itself."""
    return next((one for one in wanted if KEYS[key].meets(one, value)), value)


def _worst(key: str, there: Mapping[str, int], wanted: Mapping[str, int]) -> Level:
    """FAIL if a value that nobody expects is one with any that is."""
    odd = [value for value in there if value not in wanted] or [DOWN] * (there.get(DOWN, 0) > wanted.get(DOWN, 0))
    fails = any(all(FAILS.get(key, _never)(one, value) for one in wanted) for value in odd)
    return Level.FAIL if fails else Level.WARN


def _level(key: str, one: Expectation, value: str) -> Level:
    if _may_be_hidden(key, one, value):
        return Level.WARN
    return Level.FAIL if FAILS.get(key, _never)(words(one.value), value) else Level.WARN


def _may_be_hidden(key: str, one: Expectation, value: str) -> bool:
    """No RDMA device at all: its driver is not loaded, or this process is in a container that is given none."""
    return key == "nics" and one.at_least and value == "0"


def _never(_expected: str, _found: str) -> bool:
    return False


def _fewer(expected: str, found: str) -> bool:
    return int(found) < int(expected)


def _half(expected: str, found: str) -> bool:
    share = share_of_link(expected, found)
    return share is not None and share <= HALF


FAILS: Mapping[str, Callable[[str, str], bool]] = {
    **dict.fromkeys(COUNTS, _fewer),
    "nvlinks": lambda expected, found: found == "0",
    "link": _half,
    "nic_link": _half,
    "rate": lambda expected, found: found == DOWN,
}
"""By key: whether a found value is a fault that has FAIL where a rule finds it by itself; any other has WARN."""


def _unmet(key: str, one: Expectation, value: str, level: Level, devices: list[str]) -> Finding:
    of_devices = f" ({_listed(devices)})" if devices else ""
    why = HIDDEN if _may_be_hidden(key, one, value) else ""
    return RULE.finding(
        level,
        key,
        f"{value} found{of_devices}, {words(one.value)} expected ({one.source}){why}",
        expected=words(one.value),
        found=value,
        expected_by=one.source,
        devices=devices,
    )


def _listed(devices: list[str], most: int = 8) -> str:
    """The devices by name, the rest of many counted."""
    more = f" and {len(devices) - most} more" if len(devices) > most else ""
    return ", ".join(devices[:most]) + more


def _concerns(machine: Machine) -> bool:
    return machine.facts is None or bool(expectations(machine))


RULE = Rule(card=EXPECTATION_UNMET, needs=(Need.MACHINE,), concerns=_concerns, check=_check)
