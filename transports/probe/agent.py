# SPDX-License-Identifier: Apache-2.0
"""A node's part of the connectivity test: it reads what to try from stdin, and answers on stdout, in lines of JSON.

    <- ReachTask
    -> Listening, at its endpoints
    <- Listeners, of all nodes
    -> ReachResults
    <- the end of stdin, when all have tried; then it stops listening

It uses stdin rather than the network, since the network is what is tested.
"""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO

from railgauge.topo.errors import UsageError
from railgauge.topo.findings.cluster.endpoints import Endpoint
from railgauge.topo.findings.cluster.reach import FailedConnection, ways
from railgauge.transports.probe.answering import Answering
from railgauge.transports.probe.attempt import Attempt
from railgauge.transports.probe.greeting import ATTEMPT_S
from railgauge.transports.probe.hints import filtered_packets
from railgauge.transports.probe.messages import Listeners, Listening, Ports, ReachResults, ReachTask
from railgauge.transports.probe.rounds import opponents
from railgauge.transports.typed import jsonable, read_json

MOST_BYTES = 256 << 20
MOST_WAYS = 256
"""Connections to one node that are tried at a time: NCCL uses at most 16 interfaces (MAX_IFS), each to each."""
LINGER_S = 600.0
"""How long a node that has tried all others still answers them when stdin stays open, in seconds."""


class Agent:
    """One node's request, and its attempts."""

    def __init__(self, name: str, task: ReachTask) -> None:
        self.secret = task.secret.encode()
        self._name = name
        self._nodes = {
            node: tuple(Endpoint(interface=interface, address=address, uses=uses) for interface, address, uses in its)
            for node, its in task.nodes.items()
        }
        self._across = frozenset(task.across)
        self._within_s = task.within_s
        if name not in self._nodes:
            raise UsageError(f"{name} is not one of the nodes to test: {', '.join(self._nodes)}")

    def listen(self, answering: Answering) -> Ports:
        """Listen at this node's endpoints: for each its port, or why not."""
        self._ports = [_port(answering, one.address) for one in self._nodes[self._name]]
        return self._ports

    def results(self, ports: Mapping[str, Ports], over: threading.Event) -> ReachResults:
        """Try all nodes that listen, one after the other, until the time is up or the test ends."""
        deadline, before = time.monotonic() + self._within_s - ATTEMPT_S, filtered_packets()
        names = list(self._nodes)
        failures: list[FailedConnection] = []
        untried: list[str] = []
        with ThreadPoolExecutor(MOST_WAYS) as pool:
            for place in opponents(len(names), names.index(self._name)):
                target = names[place]
                if over.is_set() or time.monotonic() > deadline:
                    untried.append(target)
                elif target in ports:
                    tried = pool.map(lambda one: one.run(self.secret), self._attempts(target, ports[target]))
                    failures.extend(failure for failure in tried if failure)
        filtered = filtered_packets() - before
        return ReachResults(failures=failures, untried=untried, filtered=filtered)

    def _attempts(self, target: str, ports: Ports) -> Iterator[Attempt]:
        mine, its = self._nodes[self._name], self._nodes[target]
        for way, _ in ways(mine, its, self._across):
            port = ports[way[1]]
            if isinstance(port, int) and isinstance(self._ports[way[0]], int):
                yield Attempt((self._name, target), (mine[way[0]], its[way[1]]), way, port)


def serve(name: str, stdin: BinaryIO, stdout: BinaryIO) -> None:
    """Play node `name`'s part. UsageError: stdin is not such a request."""
    agent = Agent(name, _read(stdin, ReachTask))
    answering = Answering(name, agent.secret)
    ports = agent.listen(answering)
    with answering.answering():
        _write(stdout, Listening(ports=ports))
        heard: Listeners = _read(stdin, Listeners)
        over = threading.Event()
        threading.Thread(target=_listen_for_the_end, args=(stdin, over), daemon=True).start()
        _write(stdout, agent.results(heard.ports, over))
        over.wait(LINGER_S)


def _listen_for_the_end(stdin: BinaryIO, over: threading.Event) -> None:
    stdin.read()
    over.set()


def _port(answering: Answering, address: str) -> int | str:
    try:
        return answering.listen(address)
    except OSError as error:
        return error.strerror or str(error)


def _read(stdin: BinaryIO, kind: Any) -> Any:
    try:
        return read_json(stdin.readline(MOST_BYTES), kind)
    except ValueError as error:
        raise UsageError(
            f"this command is for railgauge cluster check on another host, not for use by hand ({error})"
        ) from None


def _write(stdout: BinaryIO, answer: Listening | ReachResults) -> None:
    stdout.write(json.dumps(answer, default=jsonable).encode() + b"\n")
    stdout.flush()
