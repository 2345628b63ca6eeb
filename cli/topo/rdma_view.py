# SPDX-License-Identifier: Apache-2.0
"""Prints `topo show --view rdma`: RDMA ports, in colour on a terminal, or as one JSON document."""

import os

from railgauge.cli.machine_options import print_warnings
from railgauge.cli.output import document, print_json, print_lines, terminal_width
from railgauge.topo.errors import UsageError
from railgauge.topo.facts.reader import Reader
from railgauge.topo.facts.sources.nccl_topo_file import SETTING
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.detect.rdma_survey import RdmaSurvey, survey_rdma
from railgauge.topo.render.rdma import rdma_document, rdma_lines


def settings_of_devices() -> dict[str, str]:
    """The environment without NCCL_TOPO_FILE: this view ignores topology files, invalid ones too."""
    return {name: value for name, value in os.environ.items() if name != SETTING}


def print_rdma(machine: Machine, *, as_json: bool = False) -> None:
    """Print the RDMA devices of a machine or a capture; UsageError for a topology file, which has none."""
    if machine.reader is None:
        raise UsageError("--view rdma needs a machine or a capture: a topology file has no RDMA devices")
    survey = survey_rdma(machine.reader, machine.environment)
    print_warnings(_unreadable(machine, machine.reader, survey))
    if as_json:
        print_json(document("rdma", machine.host, **rdma_document(survey)))
    else:
        print_lines(rdma_lines(survey, terminal_width()))


def _unreadable(machine: Machine, reader: Reader, survey: RdmaSurvey) -> tuple[str, ...]:
    """Warnings about RDMA devices that could not be read, without those that the machine already gave."""
    lines = [f"{path} is not readable: {why}" for path, why in sorted(reader.problems.items()) if "infiniband" in path]
    if survey.unknown and not any(survey.unknown in warning for warning in machine.warnings):
        lines.append(f"MTU, limits and DMA-BUF of RDMA devices are unknown: {survey.unknown}")
    return tuple(line for line in lines if line not in machine.warnings)
