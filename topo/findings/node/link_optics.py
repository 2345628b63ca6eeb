# SPDX-License-Identifier: Apache-2.0
"""Cables and optical modules of RDMA ports at their limits, by what the drivers of NICs show."""

from collections.abc import Iterator, Mapping

from railgauge.topo.findings.cards.health import LINK_OPTICS
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine

BEFORE_CORRECTION = 1e-4
"""RS(544,514) corrects up to 2.4e-4 (IEEE 802.3, clause 120)."""
AFTER_CORRECTION = 1e-12
LEAST_ERRORS = 10  # fewer are those of a link that came up
NEAR_MC = 5000
MODULE = {"module_high_temp": "the module was too hot", "module_bad_shorted": "the module or cable is shorted"}
MODULE |= {"module_bus_stuck": "the module could not be read"}


def _check(machine: Machine) -> Iterator[Finding]:
    statistics, sensors = machine.sources.interface_statistics, machine.sources.module_temperatures
    for name, counts in statistics.counts.items():
        yield from _ratios(name, counts)
        for counter, words in MODULE.items():
            if counts.get(counter):
                message = f"{name}: {words}, {counts[counter]} times since the driver started"
                yield RULE.finding(Level.INFO, name, message, counter=counter, count=counts[counter])
    for sensor in sensors:
        if sensor.critical_mc is not None and sensor.now_mc >= sensor.critical_mc - NEAR_MC:
            level = Level.FAIL if sensor.now_mc >= sensor.critical_mc else Level.WARN
            now, limit = sensor.now_mc / 1000, sensor.critical_mc / 1000
            message = f"{sensor.device} {sensor.sensor}: {now:g} C, critical at {limit:g} C"
            yield RULE.finding(level, sensor.device, message, sensor=sensor.sensor, now_c=now, critical_c=limit)
    if statistics.error:
        yield RULE.unknown(machine.host, statistics.error)
    elif not statistics.counts and not sensors:
        yield RULE.unknown(machine.host, "the drivers show no bit errors and no temperatures")


def _ratios(name: str, counts: Mapping[str, int]) -> Iterator[Finding]:
    """Bit error rates since the driver started, of what was received."""
    bits = 8 * counts.get("rx_bytes_phy", 0)
    for counter, most, words in (
        ("rx_corrected_bits_phy", BEFORE_CORRECTION, "before"),
        ("rx_symbol_err_phy", AFTER_CORRECTION, "after"),
    ):
        errors = counts.get(counter, 0)
        if bits and errors >= LEAST_ERRORS and (rate := errors / bits) >= most:
            message = f"{name}: bit error rate {rate:.1e} {words} correction, above {most:g} ({counter} {errors})"
            yield RULE.finding(Level.WARN, name, message, counter=counter, count=errors, rate=rate)
        elif counter == "rx_symbol_err_phy" and errors:
            yield RULE.finding(Level.INFO, name, f"{name}: {counter} {errors} since the driver started", count=errors)


def _concerns(machine: Machine) -> bool:
    return machine.facts is None or any(not device.virtual for device in machine.facts.rdma)


RULE = Rule(card=LINK_OPTICS, concerns=_concerns, check=_check)
