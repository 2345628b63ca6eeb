# SPDX-License-Identifier: Apache-2.0
"""The hosts of a job: hostfiles as people write them for Open MPI and MPICH, and lists as `-w gpu[001-064]` has them.

One host a line, `#` starts a comment:

    10.0.0.1 slots=4              Open MPI
    gpu-02 slots=4 max_slots=8
    gpu-03:4                      MPICH, and Open MPI's --host
    10.0.0.4 gpu-04 gpu04 slots=4 as in /etc/hosts: an address and its other names
    gpu[05-08] slots=4            a range: four hosts
    gpu-09,gpu-10:2               several on a line
    root@[fd77::1]:4              a user; brackets around an IPv6 address

A host has one slot by default; a host that is repeated, by any of its names, adds its slots (as in Open MPI).
"""

import io
import ipaddress
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from railgauge.topo.errors import InputError, UsageError
from railgauge.topo.files.input_file import read_bytes
from railgauge.topo.values.node_names import NAME, unfolded

MOST_BYTES = 16 << 20
MOST_HOSTS = 100_000
MOST_NAMED = 1 << 18
"""How often hosts may be named, with repetitions: some hostfiles have a line for each slot."""
MOST_SLOTS = 1 << 20

ADDRESS = re.compile(r"[0-9A-Fa-f.:]{2,45}")  # a quick check: ipaddress is slow to reject
USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True)
class Host:
    """A host and how many processes it takes."""

    address: str
    """As the file names it first: a name or an address (IPv6 without brackets)."""
    slots: int
    user: str | None = None
    aliases: tuple[str, ...] = ()

    @property
    def destination(self) -> str:
        """What ssh is given."""
        return f"{self.user}@{self.address}" if self.user else self.address


def load(path: str) -> list[Host]:
    """Read a hostfile, in the file's order.

    Raises:
        InputError: it cannot be read, or a line (named by number) is invalid.
    """
    try:
        raw = read_bytes(path, MOST_BYTES)
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("not a hostfile: it is not UTF-8 text", path) from None
    if len(raw) > MOST_BYTES:
        raise InputError(f"not a hostfile: it is larger than {MOST_BYTES >> 20} MiB", path)
    return parse_hostfile(text, path)


def parse_hostfile(text: str, path: str) -> list[Host]:
    """The hosts in a hostfile's text; `path` is for messages. Errors as load."""
    hosts = _Hosts()
    for number, line in enumerate(io.StringIO(text.removeprefix("\ufeff"), newline="\n"), 1):
        try:
            hosts.add(_line(line.partition("#")[0]))
        except UsageError as error:
            raise InputError(str(error), path, number) from None
    if not hosts.merged:
        raise InputError("no host in this hostfile", path)
    return hosts.merged


def hosts_from(text: str) -> list[Host]:
    """The hosts of a list as -w and --host take it: `gpu[001-064]`, `a,b:4`, `@group` of ClusterShell's groups.

    Raises:
        UsageError: it is not such a list.
    """
    hosts = _Hosts()
    hosts.add(host for part in text.split() for word in _list(part) for host in _hosts(word))
    if not hosts.merged:
        raise UsageError("an empty list of hosts")
    return hosts.merged


def check_destination(text: str) -> str:
    """`text` again, if it is `name`, `address` or `user@name`, and cannot be read as an option or by a shell.

    Raises:
        UsageError: it is not.
    """
    user, at, name = text.rpartition("@")
    if (at and not USER.fullmatch(user)) or not (is_address(name) or NAME.fullmatch(name)):
        raise UsageError(f"{text[:100]!r} is not a host: expected a name, an address, or user@name")
    return text


def is_address(text: str) -> bool:
    """Whether this is an IP address, as it can stand in a hostfile: no zone, no brackets."""
    try:
        return bool(ADDRESS.fullmatch(text) and ipaddress.ip_address(text))
    except ValueError:
        return False


def fill(hosts: Sequence[Host], processes: int | None) -> tuple[list[Host], str | None]:
    """Distribute processes over hosts as mpirun does: slot by slot, in order.

    Args:
        hosts: the hosts with their slots.
        processes: how many; None: as many as there are slots.

    Returns:
        The hosts that take part, `slots` being the processes on each, and a remark for the user if slots stay free.

    Raises:
        UsageError: there are fewer slots than processes.
    """
    there = sum(host.slots for host in hosts)
    wanted = there if processes is None else processes
    if wanted > there:
        raise UsageError(
            f"-np {wanted}, but there are {there} slots ({_in_words(hosts)}): "
            f"raise slots= in the hostfile, add hosts, or ask for -np {there}"
        )
    used: list[Host] = []
    left = wanted
    for host in hosts:
        if left > 0:
            used.append(replace(host, slots=min(host.slots, left)))
            left -= used[-1].slots
    return used, None if wanted == there else f"-np {wanted} of {there} slots: {_in_words(used)}"


def _line(line: str) -> Iterator[Host]:
    """The hosts of one line without its comment."""
    words = re.sub(" ?= ?", "=", " ".join(line.split())).split()
    if not words:
        return
    _refuse_other_syntax(words)
    settings = dict(_setting(word) for word in words[1:] if "=" in word)
    aliases = tuple(word for word in words[1:] if "=" not in word)
    hosts: Iterator[Host] = (host for word in _list(words[0]) for host in _hosts(word, settings.get("slots")))
    if aliases:
        one = _the_one(list(islice(hosts, 2)), words, settings)
        hosts = iter([replace(one, aliases=tuple(map(check_destination, aliases)))])
    yield from (replace(host, user=str(settings["user"])) if "user" in settings else host for host in hosts)


def _refuse_other_syntax(words: list[str]) -> None:
    first = words[0][:100]
    if first.startswith("+"):
        raise UsageError(f"{first}: hosts relative to an allocation are not supported: name the hosts")
    if first.startswith("^"):
        raise UsageError(f"{first}: excluded hosts are not supported: leave the host out")
    if first.lower() == "rank" and len(words) > 1:
        raise UsageError("this is a line of a rankfile: a hostfile has one host and its slots on each line")
    if "=" in first or not first.strip(","):
        raise UsageError(f"{first}: a line starts with its host")


def _the_one(hosts: list[Host], words: list[str], settings: dict[str, int | str]) -> Host:
    """The host that the other names on its line belong to."""
    if len(hosts) != 1 or not (is_address(hosts[0].address) or "slots" in settings):
        raise UsageError(
            f"{' '.join(words)[:100]}: is this one host, or several? Write other names of a host after its address, "
            f"several hosts on separate lines or with commas"
        )
    return hosts[0]


def _setting(word: str) -> tuple[str, int | str]:
    """The options of a line, such as `slots=4`."""
    name, _, value = word.partition("=")
    if name in ("slots", "max_slots", "max-slots"):
        return name.replace("-", "_"), _slots(value, word)
    if name in ("user", "username") and USER.fullmatch(value):
        return "user", value
    raise UsageError(f"{word[:100]}: unknown option of a host; options are slots=N, max_slots=N and user=NAME")


def _slots(text: str, word: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= MOST_SLOTS:
        raise UsageError(f"{word[:100]}: slots must be a number from 1 to {MOST_SLOTS} (leave the host out for none)")
    return int(text)


def _list(text: str) -> Iterator[str]:
    """The parts of a list, split at commas outside brackets."""
    return (part[0] for part in re.finditer(r"(?:\[[^\]]*(?:\]|$)|[^,\[])+", text))


def _hosts(word: str, slots_said: int | str | None = None) -> list[Host]:
    """The host, or hosts, of `[user@]name[:slots]`, where a name may be an address, a range or a group."""
    user, _, rest = word.rpartition("@")
    if word.startswith("@"):
        return [Host(check_destination(name), int(slots_said or 1)) for name in unfolded(word, MOST_HOSTS)]
    name, slots = _name_and_slots(rest)
    if slots is not None and slots_said:
        raise UsageError(f"{word[:100]}: slots are given twice, as :{slots} and as slots={slots_said}")
    count = int(slots_said or 1) if slots is None else _slots(slots, word)
    names = unfolded(name, MOST_HOSTS) if "[" in name else [name]
    for each in names:
        check_destination(f"{user}@{each}" if user else each)
    return [Host(each, count, user or None) for each in names]


def _name_and_slots(text: str) -> tuple[str, str | None]:
    """Both sides of the colon that is not part of an IPv6 address."""
    if bracketed := re.fullmatch(r"\[([0-9A-Fa-f.]*:[0-9A-Fa-f:.]*)\](?::(.*))?", text):
        return bracketed[1], bracketed[2]
    if is_address(text):
        return text, None
    name, colon, slots = text.partition(":")
    return name, slots if colon else None


class _Hosts:
    """Hosts in their first order, each once, with all its slots; two are the same if they share a name."""

    def __init__(self) -> None:
        self.merged: list[Host] = []
        self._place: dict[str, int] = {}
        self._named = 0

    def add(self, hosts: Iterable[Host]) -> None:
        """Add hosts one by one. UsageError once there are more than the limits."""
        for host in hosts:
            self._add(host)
            self._named += 1
            if len(self.merged) > MOST_HOSTS:
                raise UsageError(f"more than {MOST_HOSTS} hosts")
            if self._named > MOST_NAMED:
                raise UsageError(f"hosts are named more than {MOST_NAMED} times: name each once, with slots=N")

    def _add(self, host: Host) -> None:
        names = (host.address, *host.aliases)
        at = next((self._place[name] for name in names if name in self._place), None)
        if at is None:
            at = len(self.merged)
            self.merged.append(host)
        else:
            known = self.merged[at]
            self.merged[at] = replace(
                known,
                slots=known.slots + host.slots,
                user=known.user or host.user,
                aliases=tuple(dict.fromkeys((*known.aliases, *(n for n in names if n != known.address)))),
            )
        self._place |= dict.fromkeys(names, at)


def _in_words(hosts: Sequence[Host]) -> str:
    """The slots of each host: `2 on gpu-01, 4 on gpu-02`."""
    return ", ".join(f"{host.slots} on {host.address}" for host in hosts[:8]) + (", ..." if len(hosts) > 8 else "")
