# SPDX-License-Identifier: Apache-2.0
"""What nodes that are asked on their stdin answer on their stdout: here on loopback, each in a thread."""

import errno
import io
import json
import os
import socket
import threading

import pytest

from railgauge.topo.errors import UsageError
from railgauge.transports.probe.agent import serve

WITHIN_S = 20.0


class Node:
    """One agent, talked to in lines."""

    def __init__(self, name):
        (theirs, ours), (mine, yours) = os.pipe(), os.pipe()
        self.stdin, self.stdout = os.fdopen(ours, "wb", buffering=0), os.fdopen(mine, "rb")
        self.thread = threading.Thread(target=self.run, args=(name, os.fdopen(theirs, "rb"), os.fdopen(yours, "wb")))
        self.thread.start()

    def run(self, name, stdin, stdout):
        with stdin, stdout:
            serve(name, stdin, stdout)

    def tell(self, told):
        self.stdin.write(json.dumps(told).encode() + b"\n")

    def hear(self):
        return json.loads(self.stdout.readline())

    def end(self):
        self.stdin.close()
        self.thread.join(10)
        self.stdout.close()
        assert not self.thread.is_alive()


def asked(addresses, within_s=WITHIN_S, moved=None):
    """What a node for each address finds, and where it listens; `moved` are ports that the others are given instead."""
    nodes = {f"n{place}": [["lo", address, ["NET/Socket/0"]]] for place, address in enumerate(addresses)}
    running = {name: Node(name) for name in nodes}
    for node in running.values():
        node.tell({"secret": "a secret", "nodes": nodes, "across": [], "within_s": within_s})
    ports = {name: node.hear()["ports"] for name, node in running.items()}
    for node in running.values():
        node.tell({"ports": ports | (moved or {})})
    results = {name: node.hear() for name, node in running.items()}
    for node in running.values():
        node.end()
    return ports, results


def test_nodes_that_reach_each_other_find_nothing():
    _, results = asked(["127.0.0.1", "127.0.0.2", "127.0.0.3"])
    assert all((told["failures"], told["untried"]) == ([], []) for told in results.values())


def test_an_address_that_a_node_has_not_is_told_and_not_tried():
    ports, results = asked(["127.0.0.1", "203.0.113.1"])
    assert isinstance(ports["n0"][0], int)
    assert "assign" in ports["n1"][0]
    assert all(told["failures"] == [] for told in results.values())


def test_a_node_that_cannot_be_reached_is_told_by_each_of_the_others():
    with socket.socket() as bound:  # nobody listens there
        bound.bind(("127.0.0.2", 0))
        moved = {"n1": [bound.getsockname()[1]]}
        _, results = asked(["127.0.0.1", "127.0.0.2", "127.0.0.3"], moved=moved)
    found = {
        name: [(one["source"], one["target"], one["errno"]) for one in told["failures"]]
        for name, told in results.items()
    }
    refused = errno.ECONNREFUSED
    assert found == {"n0": [("n0", "n1", refused)], "n1": [], "n2": [("n2", "n1", refused)]}


def test_without_time_nothing_is_tried_and_that_is_told():
    _, results = asked(["127.0.0.1", "127.0.0.2"], within_s=1.0)
    assert [told["untried"] for told in results.values()] == [["n1"], ["n0"]]


@pytest.mark.parametrize(
    "said", [b"", b"hello\n", b'{"secret": "s", "nodes": {}, "across": [], "within_s": 1.0}\n'], ids=len
)
def test_a_user_who_asks_by_hand_is_told(said):
    with pytest.raises(UsageError):
        serve("n0", io.BytesIO(said), io.BytesIO())
