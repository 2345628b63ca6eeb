# SPDX-License-Identifier: Apache-2.0
"""What NCCL itself prints is read by `log explain` with its host, process, interface, settings and causes."""

import re
import socket

import pytest
from tests.nccl.library import Nccl, each_release

from railgauge.topo.jobs.logs.line import MOST_DEVICES, messages
from railgauge.topo.jobs.logs.log import Log

HOST = socket.gethostname().partition(".")[0]
ENVIRONMENTS = (
    {"NCCL_DEBUG": "INFO"},
    {"NCCL_DEBUG": "TRACE", "NCCL_DEBUG_SUBSYS": "ALL"},
    {"NCCL_DEBUG": "info", "NCCL_DEBUG_SUBSYS": "INIT,ENV,BOOTSTRAP,NET", "NCCL_SOCKET_IFNAME": "^docker"},
    {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_TIMESTAMP_LEVELS": "ALL"},
    {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_TIMESTAMP_LEVELS": "ALL", "NCCL_DEBUG_TIMESTAMP_FORMAT": "%H:%M:%S.%3f "},
    {"NCCL_DEBUG": "INFO", "NCCL_SOCKET_IFNAME": "nope"},
    {"NCCL_DEBUG": "WARN", "NCCL_COMM_ID": "x:y"},
)
HEADER = re.compile(rf"\b{re.escape(HOST)}:\d+:\d+ ")


def log_of(text):
    log = Log()
    log.read(text.encode())
    log.end_file()
    return log


@each_release
@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda one: " ".join(one.values()))
def test_every_line_is_of_its_host_and_process(release, environment):
    with Nccl(release) as nccl:
        answer = nccl.under(environment, joins=True)
    lines = [line for line in answer.said.splitlines() if line.strip()]
    assert any(HEADER.search(line) for line in lines)
    for line in lines:
        (read,) = messages(line.encode())
        assert (read.host, read.pid) == (HOST, answer.pid), line
        assert read.level == re.search(r"NCCL (\w+)", line)[1]
        assert read.device is None or 0 <= read.device < MOST_DEVICES
        assert "NCCL " not in read.text.partition(" ")[0]
    assert list(log_of(answer.said).hosts) == [HOST]


@each_release
def test_the_interface_and_the_settings_are_those_that_nccl_prints(release):
    with Nccl(release) as nccl:
        answer = nccl.under(
            {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,ENV,BOOTSTRAP", "NCCL_SOCKET_IFNAME": "lo"}
        )
    log = log_of(answer.said)
    assert log.bootstraps == {HOST: "lo 127.0.0.1"}
    assert log.settings["NCCL_SOCKET_IFNAME"] == {"lo": {HOST}}


@each_release
def test_a_start_without_trouble_has_no_finding(release):
    with Nccl(release) as nccl:
        answer = nccl.under({"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "ALL"})
    assert answer.status == 0
    assert log_of(answer.said).sightings == {}


@each_release
def test_the_causes_of_a_start_that_fails_are_found(release):
    with Nccl(release) as nccl:
        no_interface = nccl.under({"NCCL_DEBUG": "WARN", "NCCL_SOCKET_IFNAME": "nope"})
        no_driver = nccl.under({"NCCL_DEBUG": "WARN"}, joins=True)
    assert no_interface.status
    assert causes(no_interface) == {"socket-ifname-nomatch"}
    if no_driver.status:  # a machine without GPUs
        assert causes(no_driver) <= {"driver-mismatch", "cuda-start-failed"}
        assert causes(no_driver)


def causes(answer):
    log = log_of(answer.said)
    assert all(seen.hosts == {HOST} for seen in log.sightings.values())
    return {seen.entry.card.id for seen in log.sightings.values()}


@each_release
def test_a_file_of_each_process_is_read_as_its_output_is(release, tmp_path):
    with Nccl(release) as nccl:
        answer = nccl.under({"NCCL_DEBUG": "INFO", "NCCL_DEBUG_FILE": f"{tmp_path}/nccl.%h.%p.log"})
    (file,) = tmp_path.iterdir()
    assert file.name == f"nccl.{HOST}.{answer.pid}.log"
    assert "Bootstrap" not in answer.said
    assert log_of(file.read_text()).bootstraps.keys() == {HOST}
