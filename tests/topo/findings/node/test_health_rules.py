# SPDX-License-Identifier: Apache-2.0
"""Rules about the health of devices: levels, rates, siblings, and what is not known."""

import pytest
from tests.topo.findings.node.cases import IB, alarms, case, changed, findings, health, levels, subjects

from railgauge.topo.facts.sources.kernel_events import KernelEvents, read_events
from railgauge.topo.findings.card import Area, in_area
from railgauge.topo.findings.finding import Level
from railgauge.topo.findings.kernel_events import sxid_findings, xid_findings
from railgauge.topo.findings.node.nvlink_errors import bit_error_rate
from railgauge.topo.findings.node.rising import rates, rises
from railgauge.topo.findings.node.rules import RULES

OF_HEALTH = [rule.id for rule in RULES if rule.card in in_area(Area.HEALTH)]
GPU3 = "0000:61:00.0"
ROCE = "hgx-h100-8nic"
SECOND = 1_000_000_000


def xid(code, rest="", gpu="61", at=5):
    return f"[{at}.0] NVRM: Xid (PCI:0000:{gpu}:00): {code}, {rest}"


def one(rule, machine, cost=1):
    [found] = findings(rule, machine, cost)
    return found


def test_a_machine_without_a_fault_raises_no_alarm():
    assert not alarms(health())
    unknown = {rule for rule in OF_HEALTH for found in findings(rule, health(), 2) if found.level is Level.UNKNOWN}
    assert unknown == {"link-optics"}


@pytest.mark.parametrize("code", [46, 48, 62, 64, 74, 79, 94, 95, 109, 119, 120, 136, 140, 143, 158])
def test_xids_after_which_a_node_is_drained(code):
    found = one("gpu-xid", health(xid(code)))
    assert (found.level, found.subject) == (Level.FAIL, GPU3)
    assert found.evidence["drain"] is True
    assert "drain the node" in found.message
    assert found.message.startswith(f"GPU3 ({GPU3}): Xid {code}, 5 s after boot: ")
    assert found.remedy


@pytest.mark.parametrize(("code", "level"), [(13, "INFO"), (31, "INFO"), (43, "INFO"), (45, "INFO"), (63, "WARN")])
def test_xids_after_which_it_is_not(code, level):
    found = one("gpu-xid", health(xid(code)))
    assert (found.level, found.evidence["drain"]) == (level, False)


def test_an_xid_that_nobody_knows_is_named():
    found = one("gpu-xid", health(xid(999)))
    assert found.level is Level.WARN
    assert "999" in found.message


@pytest.mark.parametrize(("word", "level"), [("Fatal", "FAIL"), ("Nonfatal", "WARN"), ("", "FAIL")])
def test_nvlink_faults_of_blackwell_say_how_serious_they_are(word, level):
    assert one("gpu-xid", health(xid(145, f"RLW_CTRL {word} XC0 i0 Link 00"))).level == level


def recovery(old, new):
    return f"GPU recovery action changed from {old} (x) to {new} (y)"


@pytest.mark.parametrize(("action", "level"), [("0x1", "FAIL"), ("0x2", "FAIL"), ("0x4", "FAIL"), ("0x9", "FAIL")])
def test_a_recovery_that_the_driver_asks_for(action, level):
    assert one("gpu-xid", health(xid(154, recovery("0x0", action)))).level == level


def test_what_was_before_a_recovery_is_past():
    lines = xid(48), xid(154, recovery("0x0", "0x1")), xid(154, recovery("0x1", "0x0"), at=9)
    assert {found.level for found in findings("gpu-xid", health(*lines))} == {Level.INFO}
    assert "recovered since" in findings("gpu-xid", health(*lines))[0].message
    again = findings("gpu-xid", health(*lines, xid(79, at=12)))
    assert [found.level for found in again if found.evidence["xid"] == 79] == [Level.FAIL]
    other = findings("gpu-xid", health(*lines, xid(48, gpu="43")))
    assert Level.FAIL in {found.level for found in other}


def test_xids_are_counted():
    assert "Xid 31, 2 times, last 9 s after boot" in one("gpu-xid", health(xid(31), xid(31, at=9))).message


def test_a_kernel_log_that_is_cut_is_unknown_not_good():
    made = health()
    cut = {**made.reader.facts("kernel_log"), "missing": "/dev/kmsg: its 8 oldest lines are overwritten"}
    for rule in ("gpu-xid", "nvswitch-sxid"):
        assert levels(rule, case("dgx-h100", facts={"kernel_log": cut})) == {Level.UNKNOWN}


def test_sxids_by_what_their_message_says():
    log = KernelEvents()
    for code, word in ((20034, "Fatal"), (12028, "Non-fatal"), (11012, "Non-fatal"), (11012, "Fatal")):
        log.read(f"[1.0] nvidia-nvswitch0: SXid (PCI:0000:a9:00.0): {code}, {word}, Link 30 x\n".encode())
    found = list(sxid_findings(read_events(log.facts())))
    assert [finding.level for finding in found] == ["FAIL", "WARN", "INFO", "FAIL"]
    assert not list(xid_findings(read_events(log.facts())))


def test_machines_without_gpus_are_not_asked():
    assert all(not findings(rule, case("laptop")) for rule in OF_HEALTH if rule != "link-optics")


def test_memory_errors_of_the_past_are_no_fault():
    found = one("gpu-memory-errors", health(gpus__3__ecc__dram_uncorrected_aggregate=2))
    assert (found.level, found.remedy) == (Level.INFO, "")
    assert "2 uncorrected DRAM errors in the GPU's life" in found.message


def test_memory_errors_that_rise():
    corrected = health(later={"gpus.3.ecc.dram_corrected_volatile": 6})
    assert levels("gpu-memory-errors", corrected) == {Level.PASS}
    found = one("gpu-memory-errors", corrected, 2)
    assert (found.level, found.evidence["per_s"]) == (Level.WARN, {"dram_corrected_volatile": 6.0})
    uncorrected = health(later={"gpus.3.ecc.sram_uncorrected_volatile": 1})
    assert one("gpu-memory-errors", uncorrected, 2).level is Level.FAIL


def test_ecc_that_is_off():
    assert subjects("gpu-memory-errors", health(gpus__3__ecc_mode=[0, 0])) == [("WARN", GPU3)]
    every = health(**{f"gpus__{n}__ecc_mode": [0, 0] for n in range(8)})
    assert levels("gpu-memory-errors", every) == {Level.INFO}
    assert "on after a reset" in findings("gpu-memory-errors", health(gpus__3__ecc_mode=[0, 1]))[0].message
    assert levels("gpu-memory-errors", health(gpus__3__sram_threshold=1)) == {Level.FAIL}


@pytest.mark.parametrize(
    ("rows", "level"),
    [
        ({"failed": 1}, "FAIL"),
        ({"pending": 1}, "FAIL"),
        ({"pending": 1, "uncorrected": 1}, "FAIL"),
        ({"pending": 1, "corrected": 1}, "WARN"),
        ({"uncorrected": 1}, "INFO"),
        ({}, "PASS"),
    ],
)
def test_rows_that_are_remapped(rows, level):
    changes = {f"gpus__3__remapped_rows__{name}": count for name, count in rows.items()}
    assert levels("gpu-row-remap", health(**changes)) == {level}


def test_banks_without_spare_rows():
    assert one("gpu-row-remap", health(gpus__3__remap_banks__none=2)).level is Level.WARN
    assert one("gpu-row-remap", health(gpus__3__remap_banks__low=2)).level is Level.INFO


def test_a_reading_that_nvml_does_not_give_is_unknown_with_the_reason():
    for rule, reading in (
        ("gpu-row-remap", "remapped_rows"),
        ("pcie-replays", "pcie_replays"),
        ("gpu-throttled", "clock_reasons"),
        ("persistence-off", "persistence"),
        ("compute-mode", "compute_mode"),
        ("gpu-recovery-needed", "recovery_action"),
    ):
        made = health(**{f"gpus__3__{reading}": None, f"gpus__3__reasons__{reading}": "Not Supported"})
        found = one(rule, made)
        assert (found.level, found.message) == (Level.UNKNOWN, f"NVML: Not Supported (GPU3 ({GPU3}))")


def test_gpus_that_nvml_hung_on_are_unknown_and_the_others_judged():
    half = case("dgx-h100-xid", facts={"gpu_health.error": "NVML did not answer within 20 s in nvmlX of GPU7"})
    found = findings("gpu-row-remap", half)
    assert [finding.level for finding in found] == [Level.FAIL, Level.UNKNOWN]
    assert found[1].message == "NVML did not answer within 20 s in nvmlX of GPU7"


def test_a_gpu_without_a_record_is_unknown():
    kept = changed("dgx-h100-xid").facts["gpu_health"]["gpus"][:7]
    assert Level.UNKNOWN in levels("pcie-replays", case("dgx-h100-xid", facts={"gpu_health.gpus": kept}))


def test_nvlink_errors_have_rates():
    made = health(later={"gpus.5.nvlinks.7.replay": 214, "at_ms": 2000})
    assert levels("nvlink-errors", made) == {Level.PASS}
    found = one("nvlink-errors", made, 2)
    assert (found.level, found.evidence["link"], found.evidence["per_s"]) == (Level.WARN, 7, {"replay": 107.0})
    assert "replay by 214 (107/s)" in found.message


def test_nvlink_errors_of_the_past():
    past = {"gpus__5__nvlinks__7__crc": 3}
    assert one("nvlink-errors", health(**past)).level is Level.INFO
    still = health(**past, later={"gpus.5.nvlinks.7.crc": 3})
    assert [finding.level for finding in findings("nvlink-errors", still, 2)] == [Level.PASS]
    assert one("nvlink-errors", health(gpus__5__nvlinks__7={"recovery_failed": 1})).level is Level.WARN


def test_bit_error_rates_of_nvlinks():
    assert bit_error_rate(0x50C) == pytest.approx(5e-12)
    assert one("nvlink-errors", health(gpus__5__nvlinks__7={"effective_ber": 0x50B})).level is Level.WARN
    assert levels("nvlink-errors", health(gpus__5__nvlinks__7={"effective_ber": 0x50F})) == {Level.PASS}


def test_replays_of_pcie():
    assert one("pcie-replays", health(gpus__3__pcie_replays=4, later={"gpus.3.pcie_replays": 9}), 2).level is Level.WARN
    assert levels("pcie-replays", health(gpus__3__pcie_replays=4)) == {Level.INFO}


@pytest.mark.parametrize(
    ("bits", "level"),
    [(0x40, "FAIL"), (0x48, "FAIL"), (0x80, "FAIL"), (0x8, "FAIL"), (0x20, "WARN"), (0x4, "INFO"), (0x1, "PASS")],
)
def test_reasons_of_a_low_clock(bits, level):
    assert levels("gpu-throttled", health(gpus__3__clock_reasons=bits)) == {level}


@pytest.mark.parametrize(
    ("cause", "level"), [("hw_thermal", "FAIL"), ("hw_power_brake", "FAIL"), ("sw_thermal", "WARN"), ("power", "INFO")]
)
def test_time_at_a_low_clock(cause, level):
    made = health(later={f"gpus.3.throttled_ns.{cause}": SECOND // 4})
    found = one("gpu-throttled", made, 2)
    assert (found.level, found.evidence["share"]) == (level, 0.25)
    assert "25%" in found.message.replace(" %", "%")


def test_clocks_against_siblings():
    assert subjects("gpu-clock-low", health(gpus__3__clocks_mhz__sm=1200)) == [("WARN", GPU3)]
    assert levels("gpu-clock-low", health(gpus__3__clocks_mhz__sm=1700)) == {Level.PASS}
    assert levels("gpu-clock-low", health(gpus__3__clocks_mhz__sm=345, gpus__3__clock_reasons=1)) == {Level.PASS}
    slow = {f"gpus__{n}__clocks_mhz__sm_max": 1410 for n in range(8)}
    assert levels("gpu-clock-low", health(**slow)) == {Level.PASS}
    assert subjects("gpu-clock-low", health(gpus__3__clocks_mhz__memory_max=1600)) == [("WARN", GPU3)]


def test_power_limits():
    assert subjects("gpu-power-limit-low", health(gpus__3__power_mw__enforced=400_000)) == [("WARN", GPU3)]
    every = {f"gpus__{n}__power_mw__limit": 500_000 for n in range(8)}
    assert len(findings("gpu-power-limit-low", health(**every))) == 8
    assert "500 W, 700 W by default" in findings("gpu-power-limit-low", health(**every))[0].message


def test_compute_modes():
    assert levels("compute-mode", health(**{f"gpus__{n}__compute_mode": 3 for n in range(8)})) == {Level.INFO}
    shut = one("compute-mode", health(gpus__3__compute_mode=2))
    assert (shut.level, shut.message) == (
        Level.FAIL,
        f"compute mode Prohibited on GPU3 ({GPU3}): no process gets it",
    )
    mixed = {f"gpus__{n}__compute_mode": 3 for n in range(8)} | {"gpus__3__compute_mode": 2}
    assert levels("compute-mode", health(**mixed)) == {Level.INFO, Level.FAIL}  # no GPU takes several processes
    assert levels("compute-mode", health(gpus__5__compute_mode=3)) == {Level.WARN}


def test_persistence_mode():
    off = {f"gpus__{n}__persistence": 0 for n in range(8)}
    assert levels("persistence-off", health(**off)) == {Level.INFO}


@pytest.mark.parametrize(
    ("state", "level"),
    [
        ({"feature": 1, "ready": 1, "devtools": 0}, "INFO"),
        ({"feature": 1, "ready": 1, "devtools": 1}, "WARN"),
        ({"feature": 1, "ready": 0}, "FAIL"),
        ({"feature": 0}, "PASS"),
        (None, "UNKNOWN"),
    ],
)
def test_confidential_computing(state, level):
    assert levels("confidential-compute", health(confidential=state)) == {level}


def optics(files=None, **counts):
    told = {"interfaces": [{"name": "gpu0rail", "counts": {"rx_bytes_phy": 10**12, **counts}}]}
    return case(ROCE, facts={"interface_statistics": told}, files=files)


def heat(now):
    folder = f"{IB}/mlx5_0/device/hwmon/hwmon3"
    return optics({f"{folder}/temp2_input": now, f"{folder}/temp2_label": "Module0", f"{folder}/temp2_crit": "75000"})


def test_optics():
    assert levels("link-optics", optics()) == {Level.PASS}
    assert levels("link-optics", optics(rx_corrected_bits_phy=8 * 10**9)) == {Level.WARN}
    assert levels("link-optics", optics(rx_symbol_err_phy=80)) == {Level.WARN}
    assert levels("link-optics", optics(rx_symbol_err_phy=2)) == {Level.INFO}
    assert levels("link-optics", optics(module_high_temp=1)) == {Level.INFO}
    assert [levels("link-optics", heat(now)) for now in ("60000", "71000", "76000")] == [{"PASS"}, {"WARN"}, {"FAIL"}]


def fabric(**changes):
    ready = {f"nvml.gpus.{n}.fabric": {"state": 3, "status": 0, "clique": 0, "health": 0x2AA} for n in range(8)}
    return case("dgx-h100", facts=ready | changes)


def test_the_fabrics_health_and_cliques():
    assert levels("fabric-not-ready", fabric()) == {Level.PASS}
    ill = fabric(**{"nvml.gpus.3.fabric.health": 0x2A9})
    assert subjects("fabric-not-ready", ill) == [("FAIL", GPU3)]
    assert "bandwidth is degraded" in one("fabric-not-ready", ill).message
    parted = one("fabric-not-ready", fabric(**{"nvml.gpus.3.fabric.clique": 7}))
    assert parted.level is Level.WARN
    assert "clique 7: GPU3" in parted.message


def twice(before, after, ms=2000):
    ports = [[{"device": "mlx5_0", "port": 1, "counts": counts}] for counts in (before, after)]
    return {"before": ports[0], "ports": ports[1], "between_ms": ms}


def test_errors_of_ports_have_rates():
    files = {f"{IB}/mlx5_{n}/ports/1/hw_counters/out_of_sequence": "9" for n in range(8)}
    names = ("symbol_error", "link_downed", "port_rcv_errors", "out_of_sequence", "req_transport_retries_exceeded")
    facts = {"port_errors_later": twice(dict.fromkeys(names, 1), dict.fromkeys(names, 11))}
    found = one("ib-errors-rising", case(ROCE, files=files, facts=facts), 2)
    assert (found.level, found.subject) == (Level.WARN, "mlx5_0:1")
    assert found.evidence["per_s"] == dict.fromkeys(names, 5.0)
    assert "out_of_sequence by 10 (5/s)" in found.message
    lost = {**twice({"symbol_error": 1}, {}), "ports": []}
    gone = case(ROCE, files=files, facts={"port_errors_later": lost})
    assert one("ib-errors-rising", gone, 2).level is Level.UNKNOWN


def test_a_counter_that_was_reset_does_not_rise():
    assert rises({"a": 5, "b": 1, "c": None}, {"a": 2, "b": 3, "c": 4, "d": 5}) == {"b": 2}
    assert rates({"b": 3}, 2.0) == {"b": 1.5}
