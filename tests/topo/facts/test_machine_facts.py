# SPDX-License-Identifier: Apache-2.0
"""A recording holds what every rule reads."""

import io
import tarfile
from pathlib import Path

from tests.topo.facts.sources.test_pci_config import config

from railgauge.topo.facts.capture import CaptureReader, dumps, loads
from railgauge.topo.facts.foreign_tree import tree_reader
from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.recording import capture_of


def tree(root: Path) -> None:
    port = root / "sys/devices/pci0000:00/0000:00:01.0"
    port.mkdir(parents=True)
    (port / "class").write_text("0x060400\n")
    (port / "config").write_bytes(config(acs=0x1D))
    (root / "sys/bus/pci/devices").mkdir(parents=True)
    (root / "sys/bus/pci/devices/0000:00:01.0").symlink_to("../../../devices/pci0000:00/0000:00:01.0")
    group = root / "sys/kernel/iommu_groups/7"
    (group / "devices").mkdir(parents=True)
    (group / "type").write_text("DMA-FQ\n")
    (group / "devices/0000:00:01.0").symlink_to("../../../../devices/pci0000:00/0000:00:01.0")
    policy = root / "sys/devices/system/cpu/cpufreq/policy0"
    policy.mkdir(parents=True)
    (policy / "scaling_driver").write_text("acpi-cpufreq\n")
    (policy / "scaling_governor").write_text("powersave\n")
    (root / "proc").mkdir()
    (root / "proc/devices").write_text("Character devices:\n511 nvidia-caps-imex-channels\n")
    (root / "dev/nvidia-caps-imex-channels").mkdir(parents=True)
    (root / "dev/nvidia-caps-imex-channels/channel0").touch()
    library = root / "usr/lib64"
    library.mkdir(parents=True)
    (library / "libcuda.so.550.1").touch()
    (library / "libcuda.so.1").symlink_to("libcuda.so.550.1")


def test_a_capture_answers_as_the_tree_that_it_was_made_of(tmp_path):
    tree(tmp_path)
    recording = tree_reader(str(tmp_path))
    MachineFacts(recording).read_all()
    replayed = MachineFacts(CaptureReader(loads(dumps(capture_of(recording, "there")), "there")))
    direct = MachineFacts(tree_reader(str(tmp_path)))
    assert replayed.read_all() == direct.read_all()
    assert direct.pci_config["0000:00:01.0"].acs == 0x1D
    assert direct.iommu.by_device["0000:00:01.0"].kind == "DMA-FQ"
    assert direct.governors == {("acpi-cpufreq", "powersave"): 1}
    assert direct.imex.channels == ("channel0",)
    assert direct.driver.libraries == {"/usr/lib64/libcuda.so.1": "550.1"}


def test_an_archive_of_sysfs_tells_what_the_tree_does(tmp_path):
    tree(tmp_path)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(tmp_path / "sys", "sys")
    evidence = MachineFacts(CaptureReader(loads(packed.getvalue(), "sys.tar")))
    assert evidence.pci_config == MachineFacts(tree_reader(str(tmp_path))).pci_config
    assert evidence.iommu.by_device["0000:00:01.0"].kind == "DMA-FQ"
