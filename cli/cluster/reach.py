# SPDX-License-Identifier: Apache-2.0
"""Has all nodes test whom they reach (transports/probe/agent.py), at once over ssh, and collects the results."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from railgauge.cli.cluster.gather import MARK, railgauge_there
from railgauge.collectives.launch.remote import (
    MOST_OUTPUT,
    Conversation,
    Listener,
    converse,
    last_line,
    ssh_command,
    ssh_reason,
)
from railgauge.topo.findings.cluster.endpoints import Endpoint
from railgauge.topo.findings.cluster.reach import ClusterReach, Rail
from railgauge.topo.values.printable import one_line
from railgauge.transports.probe.messages import Listeners, Listening, Ports, ReachResults, ReachTask
from railgauge.transports.secret import new_secret
from railgauge.transports.typed import jsonable, read_printable_json

READY_SHARE, READY_MOST_S = 0.3, 20.0
"""Nodes that do not listen within this share of the timeout, or this many seconds, are left out."""
SPARE_S = 2.0
"""Time kept for the answers to arrive."""
NO_ANSWER = "no answer in time"


def try_reach(
    destinations: Mapping[str, str],
    nodes: Mapping[str, Sequence[Endpoint]],
    across: frozenset[Rail],
    timeout_s: float,
    on_done: Callable[[Iterable[str]], None],
) -> ClusterReach:
    """Have all nodes try all others within the timeout; `destinations`: ssh destinations by name.

    `on_done` is called with the names of nodes that are newly done.
    """
    ready_s = min(timeout_s * READY_SHARE, READY_MOST_S)
    task = ReachTask(
        secret=new_secret(),
        nodes={name: [(one.interface, one.address, one.uses) for one in its] for name, its in nodes.items()},
        across=sorted(across),
        within_s=float(timeout_s - ready_s - SPARE_S),
    )
    destinations = {name: destinations[name] for name in nodes}
    names = {destination: name for name, destination in destinations.items()}
    asked = _Asked(names, ready_s, timeout_s - SPARE_S / 2, on_done)
    limit = ("timeout", "-k", "5", str(math.ceil(timeout_s)))
    commands = {
        node: ssh_command(node, [*limit, *railgauge_there(("cluster", "probe", name))], timeout_s)
        for name, node in destinations.items()
    }
    stdin = _line(task)
    converse(commands, asked, timeout_s=timeout_s, fanout=len(commands), stdin=stdin, hold_stdin=True)
    return asked.reach(nodes, across)


class _Asked(Listener):
    """Sends all nodes the ports of the others once all listen, and hangs up once all have tried."""

    def __init__(
        self, names: Mapping[str, str], ready_s: float, over_s: float, on_done: Callable[[Iterable[str]], None]
    ) -> None:
        super().__init__()
        self._names = names
        self._ready_s, self._over_s = ready_s, over_s
        self._on_done = on_done
        self._heard: dict[str, bytes] = dict.fromkeys(names.values(), b"")
        self._stderr: dict[str, bytes] = dict.fromkeys(names.values(), b"")
        self._ports: dict[str, Ports] = {}
        self._results: dict[str, ReachResults] = {}
        self._silent: dict[str, str] = {}
        self._has_begun = self._is_over = False

    def began(self, line: Conversation) -> None:
        self._line = line
        line.call(self._ready_s, self._begin)
        line.call(self._over_s, self._end)

    def output(self, node: str, stream: str, data: bytes) -> bool:
        name = self._names[node]
        if stream == "stderr":
            self._stderr[name] = (self._stderr[name] + data)[-4096:]
            return True
        self._heard[name] += data
        if len(self._heard[name]) > MOST_OUTPUT:
            self._lose(name, f"it sent more than {MOST_OUTPUT >> 20} MiB")
            return False
        while b"\n" in self._heard[name]:
            line, _, self._heard[name] = self._heard[name].partition(b"\n")
            self._take(name, line)
        return True

    def ended(self, node: str, status: int | None) -> None:
        name = self._names[node]
        if name not in self._results:
            said = self._stderr[name]
            words = one_line(last_line(said.decode(errors="replace")))
            why = ssh_reason(said) if status == 255 else f"railgauge ended there with status {status}: {words}"
            self._lose(name, NO_ANSWER if status is None else why)

    def _take(self, name: str, line: bytes) -> None:
        """One line of a node: its ports or its results; lines of login scripts are skipped.

        Results after the end do not count, because nodes no longer have to listen then.
        """
        if name in self._silent or self._is_over or line + b"\n" == MARK:
            return
        try:
            if name in self._ports:
                self._results[name] = read_printable_json(line, ReachResults)
                self._on_done([name])
            elif not self._has_begun:
                self._ports[name] = read_printable_json(line, Listening).ports
        except ValueError:
            return
        self._go_on()

    def _lose(self, name: str, why: str) -> None:
        self._silent.setdefault(name, why)
        self._go_on()

    def _go_on(self) -> None:
        if self._missing(self._ports):
            return
        self._begin()
        if not self._missing(self._results):
            self._end()

    def _missing(self, answers: Iterable[str]) -> bool:
        return not self._heard.keys() <= {*answers, *self._silent}

    def _begin(self) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._line.tell(_line(Listeners(ports=self._ports)))

    def _end(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._line.hang_up()

    def reach(self, nodes: Mapping[str, Sequence[Endpoint]], across: frozenset[Rail]) -> ClusterReach:
        """The results of all nodes."""
        heard = self._results
        failures = [one for results in heard.values() for one in results.failures]
        return ClusterReach(
            nodes=nodes,
            across=across,
            failures=tuple(one for one in failures if one.target in heard),
            untried=frozenset((name, target) for name, results in heard.items() for target in results.untried),
            silent={name: self._silent.get(name, NO_ANSWER) for name in nodes if name not in heard},
            deaf={
                (name, place): port
                for name in heard
                for place, port in enumerate(self._ports[name])
                if isinstance(port, str)
            },
            filtered={name: results.filtered for name, results in heard.items()},
        )


def _line(told: ReachTask | Listeners) -> bytes:
    return json.dumps(told, default=jsonable).encode() + b"\n"
