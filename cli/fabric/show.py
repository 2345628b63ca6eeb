# SPDX-License-Identifier: Apache-2.0
"""railgauge fabric show: switches, tiers and rails as text, JSON or a picture."""

import os
from typing import Annotated

from railgauge.cli.fabric.options import Captures, Files, open_fabric
from railgauge.cli.json_text import json_text
from railgauge.cli.machine_options import Json
from railgauge.cli.machine_options import output as output_option
from railgauge.cli.output import document, print_json, print_lines, write_text
from railgauge.topo.errors import UsageError

SUFFIXES = (".svg", ".dot", ".json")


def show(
    files: Files,
    captures: Captures = None,
    output: Annotated[str | None, output_option("Write FILE.svg, .dot or .json instead.")] = None,
    as_json: Json = False,
) -> None:
    """Show the switches of a fabric by tier, its rails, and the nodes below each leaf.

    Examples:
        railgauge fabric show ibnetdiscover.txt
        railgauge fabric show fabric/ --captures captures/ -o fabric.svg
    """
    from railgauge.topo.fabric.rails import find_rails
    from railgauge.topo.findings.fabric.examined import ExaminedFabric
    from railgauge.topo.render.fabric import fabric_document, fabric_lines
    from railgauge.topo.render.fabric_picture import fabric_dot, fabric_svg

    suffix = os.path.splitext(output or "")[1].lower()
    if output is not None and suffix not in SUFFIXES:
        raise UsageError(f"-o {output}: the suffix selects the format; use one of {', '.join(SUFFIXES)}")
    fabric, captured, count = open_fabric(files, captures)
    rails = find_rails(fabric)
    answer = document("fabric", "", **fabric_document(fabric, rails)) if as_json or suffix == ".json" else {}
    if output is not None:
        examined = ExaminedFabric(fabric=fabric, captured=captured, captures=count)
        texts = {
            ".json": lambda: json_text(answer) + "\n",
            ".svg": lambda: fabric_svg(examined),
            ".dot": lambda: fabric_dot(examined),
        }
        write_text(output, texts[suffix]())
    if as_json:
        print_json(answer)
    elif output is None:
        print_lines(fabric_lines(fabric, rails))
