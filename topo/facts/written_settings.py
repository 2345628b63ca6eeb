# SPDX-License-Identifier: Apache-2.0
"""The settings that a text sets: scripts of a shell or a batch system, Dockerfiles, commands of Docker and mpirun,
manifests of Kubernetes and Compose, JSON, Python, nccl.conf.

    export NCCL_IB_HCA=mlx5        docker run -e NCCL_DEBUG=INFO        --export=ALL,NCCL_DEBUG=INFO
    - name: NCCL_IB_HCA            NCCL_DEBUG: INFO                     os.environ["NCCL_DEBUG"] = "INFO"
      value: "mlx5"                ENV NCCL_DEBUG INFO                  setenv NCCL_DEBUG INFO

Names are those of NCCL and of the programs that run with it. The last value counts, as it would where the lines run in
order. What the text computes ($(...), $NAME) is not known; of ${NAME:-mlx5} the default is taken.
"""

import re
from collections.abc import Iterator

from railgauge.topo.facts.program_settings import program_of
from railgauge.topo.facts.sources.nccl_settings import PREFIX, Setting
from railgauge.topo.files.pasted_text import plain_text, without_prefixes

NAME = r"(?P<name>[A-Z][A-Z0-9_]{2,63})"
VALUE = r"(?P<value>\"[^\"\n]{0,1024}\"|'[^'\n]{0,1024}'|\$\([^\n]{0,1024}|`[^\n]{0,1024}|\$\{[^}\n]{0,256}\}|" + (
    r"(?:,(?![A-Z][A-Z_0-9]*=)|[^\s\"'`;,&|(){}\\]){0,1024})"
)
FORMS = (
    re.compile(rf"(?<![\w$.{{/-]){NAME}={VALUE}"),
    re.compile(rf"(?m)^[ \t]*(?:ENV|setenv)[ \t]+{NAME}[ \t]+{VALUE}"),
    re.compile(rf"(?m)^[ \t]*(?:- )?{NAME}:[ \t]+{VALUE}"),
    re.compile(rf"[\"']{NAME}[\"']\]?\s{{0,4}}[:=,]\s{{0,4}}{VALUE}"),
    re.compile(rf"\bname\s?[:=]\s?[\"']?{NAME}[\"']?,?[ \t]*(?:#[^\n]*)?\s{{1,64}}value\s?[:=]\s?{VALUE}"),
    re.compile(rf"\bname: ?[\"']?{NAME}[\"']?, ?value: ?{VALUE}"),
)
COMMENT = re.compile(r"(?m)^[ \t]*(?:#(?!SBATCH|PBS|\$)|//).*$")
DEFAULT = re.compile(r"\$\{\w{1,64}:?[-=]([^}]*)\}")
COMPUTED = re.compile(r"\$[\w({]|`")


def written_settings(data: bytes, path: str) -> tuple[tuple[Setting, ...], tuple[str, ...]]:
    """The settings of a text, each with its line as origin, and the names of those whose values it computes."""
    text = COMMENT.sub("", without_prefixes(plain_text(data)))
    found: dict[str, Setting] = {}
    computed: dict[str, None] = {}
    for at, name, written in sorted(_all(text)):
        value = DEFAULT.sub(r"\1", written.strip("\"'"))
        if COMPUTED.search(value) and not written.startswith("'"):
            computed[name] = None
            found.pop(name, None)
        else:
            computed.pop(name, None)
            line = text.count("\n", 0, at) + 1
            found[name] = Setting(name=name, value=value, origin=f"{path}:{line}", is_asked=True)
    return tuple(found.values()), tuple(computed)


def _all(text: str) -> Iterator[tuple[int, str, str]]:
    """Every setting: where its name stands, the name, and its value as written."""
    for form in FORMS:
        for one in form.finditer(text):
            if one["name"].startswith(PREFIX) or program_of(one["name"]):
                yield one.start("name"), one["name"], one["value"]
