# SPDX-License-Identifier: Apache-2.0
"""railgauge topo show: the machine as a tree or a matrix."""

from enum import StrEnum
from typing import Annotated

import typer

from railgauge.cli.machine_options import Device, DeviceOption, From, Gpus, Ranks, open_machine, open_system


class View(StrEnum):
    """How `topo show` draws."""

    TREE = "tree"
    MATRIX = "matrix"


def show(
    source: From = None,
    gpus: Gpus = None,
    view: Annotated[View, typer.Option("--view", help="A tree, or the matrix of nvidia-smi topo -m.")] = View.TREE,
    ranks: Ranks = None,
    device: DeviceOption = Device.AUTO,
) -> None:
    """Draw the machine."""
    from railgauge.cli.topo.drawing import print_matrix, print_tree

    system = open_system(open_machine(source, gpus), ranks, device)
    (print_matrix if view is View.MATRIX else print_tree)(system)
