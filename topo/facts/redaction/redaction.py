# SPDX-License-Identifier: Apache-2.0
"""Takes a machine's identity out of a capture: names, hardware and network addresses, GUIDs, UUIDs, serial numbers.

Shapes that cannot be mistaken (MAC, GUID, GID, UUID) are replaced wherever they stand, and what was found so also in
its bare spelling (0xc42a10300651234, enx0c42a1651234). Names, serial numbers and IPv4 addresses look like much else:
they are learnt where they are known to stand, then replaced everywhere.
"""

import contextlib
import ipaddress
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from railgauge.topo.facts.capture import SEEN, Capture, folders
from railgauge.topo.facts.reader import follow
from railgauge.topo.facts.redaction.configuration_files import kept, own_files
from railgauge.topo.facts.redaction.path_names import PATH, SYSTEM, renamed
from railgauge.topo.facts.redaction.pseudonym import V4_MAPPED, Pseudonyms
from railgauge.topo.facts.redaction.secrets_in_text import without_secrets
from railgauge.topo.facts.redaction.setting_words import WORD, is_known, is_plain, takes_devices, takes_paths
from railgauge.topo.facts.sources.host_identity import HOSTNAME
from railgauge.topo.facts.sources.nccl_settings import OTHERS, PREFIX

SHAPES = {
    "ipoib": r"(?:[0-9a-f]{2}:){19}[0-9a-f]{2}",  # flags, queue pair, GID
    "eui": r"(?:[0-9a-f]{2}:){7}[0-9a-f]{2}|(?:[0-9a-f]{4}:){3}[0-9a-f]{4}",
    "ipv6": r"(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}|[0-9a-f:]{0,39}::[0-9a-f:]{0,39}(?:\d+(?:\.\d+){3})?",
    "uuid": r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "mac": r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}",
}
SHAPE = re.compile(
    rf"(?<![0-9a-z:.])(?:{'|'.join(f'(?P<{name}>{shape})' for name, shape in SHAPES.items())})(?![0-9a-z:]|\.\d)",
    re.IGNORECASE,
)
DIGITS = re.compile(r"(?<![0-9a-f])[0-9a-f]{9,32}(?![0-9a-f])", re.IGNORECASE)
NAMED = re.compile(r"(?<![0-9a-z])(?:en|ib|sl|wl|ww)x([0-9a-f]{12})(?![0-9a-f])")  # systemd.net-naming-scheme(7)
IN_XML = re.compile(r'\b(?:guid|host_hash)="0x([0-9a-f]{9,16})"')  # of a topology file
DOTTED = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])")
ADDRESS = re.compile(rf"{SHAPE.pattern}|{DOTTED.pattern}", re.IGNORECASE)
DEVICES = ("/sys/class/net", "/sys/class/infiniband")
SETTINGS = (PREFIX, *OTHERS)
NODE_DESC = "node_desc"
CHIP_NAME = re.compile(r"MT\d+|HCA-\d+|mlx\d_\w+")  # what a node_desc begins with where no host name does
SERIALS = ("serial", "serial_number", "product_serial", "board_serial", "chassis_serial", "chassis_asset_tag")
NOBODY = ("localhost", "localdomain", "(none)")


def redact(capture: Capture, key: bytes) -> Capture:
    """The capture under pseudonyms of that key (32 bytes); `redacted` in its manifest marks the key."""
    known = Redaction(Pseudonyms(key))
    capture = replace(capture, texts=kept(capture))
    known.learn(capture)
    return replace(
        capture,
        manifest={**known.value(capture.manifest), "redacted": known.pseudonyms.mark},
        texts={known.path(path): known.content(path, text) for path, text in capture.texts.items()},
        links={known.path(path): known.target(path, target) for path, target in capture.links.items()},
        facts={name: known.value(facts) for name, facts in capture.facts.items()},
    )


class Redaction:
    """What is known of one machine's identity, and the pseudonyms for it."""

    def __init__(self, pseudonyms: Pseudonyms) -> None:
        self.pseudonyms = pseudonyms
        self._numbers: dict[int, int] = {}
        self._addresses: set[int] = set()
        self._words: dict[str, str] = {}
        self._own: set[str] = set()
        self._devices: frozenset[str] = frozenset()

    def learn(self, capture: Capture) -> None:
        """Find the identifiers of a capture; before anything of it is replaced."""
        self._learn_devices(capture)
        for path in own_files(capture):
            self._own.add(follow(path, capture.links.get) or path)
        for path, text in capture.texts.items():
            if path == HOSTNAME:
                self._name(text)
            elif path.endswith("/" + NODE_DESC):
                self._described(text)
            elif path.rpartition("/")[2] in SERIALS:
                self._word("serial", text)
            elif path in self._own:
                self._addressed(text)
        for key, text in _strings([capture.manifest, *capture.facts.values()]):
            self._fact(text, key)
        for text in (*capture.texts, *capture.texts.values(), *capture.links, *capture.links.values()):
            SHAPE.sub(self._shape, text)
            self._named(text)
            for found in IN_XML.finditer(text):
                number = int(found[1], 16)
                self._number(number, self.pseudonyms.guid(number))

    def _learn_devices(self, capture: Capture) -> None:
        """Interfaces and RDMA devices have the names that their settings go by."""
        below = folders((*capture.texts, *capture.links))
        listed = [capture.texts.get(f"{folder}/{SEEN}", "").split() for folder in DEVICES]
        named = [one.get("name", "") for one in (capture.facts.get("interfaces") or {}).get("interfaces", ())]
        self._devices = frozenset().union(*(below.get(folder, ()) for folder in DEVICES), *listed, named)

    def path(self, path: str) -> str:
        """A path. Names in those of the system are left: interfaces and folders may be called like a host."""
        return self._numbered(renamed(path, self.pseudonyms.word))

    def target(self, link: str, target: str) -> str:
        """A link's target; one that is relative is of the system where its link is."""
        return self._numbered(target) if SYSTEM.match(link) and not target.startswith("/") else self.path(target)

    def _numbered(self, text: str) -> str:
        """A text with other addresses and numbers of hardware."""
        return DIGITS.sub(self._digits, SHAPE.sub(self._shape, text))

    def text(self, text: str) -> str:
        """Any text."""
        text = PATH.sub(lambda found: renamed(found[0], self.pseudonyms.word), text)
        text = DOTTED.sub(self._dotted, self._numbered(text))
        return self._worded(text)

    def _worded(self, text: str) -> str:
        """A text with pseudonyms for the names that are known."""
        if not self._words:
            return text
        words = "|".join(map(re.escape, sorted(self._words, key=len, reverse=True)))
        pattern = rf"(?<![0-9a-z])(?:{words})(?![0-9a-z])"
        return re.sub(pattern, lambda found: self._words[found[0].lower()], text, flags=re.IGNORECASE)

    def content(self, path: str, text: str) -> str:
        """A file's text."""
        name = path.rpartition("/")[2]
        if path == HOSTNAME:
            return self._name(text)
        if name == NODE_DESC:
            return self._described(text)
        if name in SERIALS:
            return self._word("serial", text)
        if path in self._own and not text.lstrip().startswith("<"):
            return "\n".join(self._line(line) for line in text.split("\n"))
        if SYSTEM.match(path):
            return self._of_system(text)
        if name == SEEN:
            return "\n".join(renamed(line, self.pseudonyms.word) for line in text.splitlines())
        return self.text(without_secrets(text, self.pseudonyms.word))

    def _of_system(self, text: str) -> str:
        """What the kernel and drivers say: no path of a user, and no secret."""
        return self._worded(DOTTED.sub(self._dotted, self._numbered(text)))

    def _line(self, line: str) -> str:
        name, sign, value = line.partition("=")
        return f"{name}{sign}{self._setting(name, value)}" if sign else self.text(line)

    def _setting(self, name: str, value: str) -> str:
        """A setting's value: words that reveal nothing stay in a known one, numbers in another one."""
        if name == "NCCL_HOSTID":
            return self._name(value)
        if takes_paths(name) and "://" not in value:
            return value if is_plain(name, value) else self.path(value)
        if not is_known(name):
            plain = is_plain(name, value) and not value.isalpha()
            return value if plain or not value else self.pseudonyms.word("value", value)
        done, parts = 0, []
        for found in ADDRESS.finditer(value):
            parts += [self._setting_words(name, value[done : found.start()]), self.text(found[0])]
            done = found.end()
        return "".join([*parts, self._setting_words(name, value[done:])])

    def _setting_words(self, name: str, value: str) -> str:
        def word(found: re.Match[str]) -> str:
            text = found[0]
            here = takes_devices(name) and any(device.startswith(text) for device in self._devices)
            stays = here or is_plain(name, text)
            return self._numbered(text) if stays else self._name(text)

        return WORD.sub(word, value)

    def value(self, value: Any, key: str = "") -> Any:
        """A value of a JSON document that stands under `key`."""
        if isinstance(value, dict):
            return {self._fact(name, ""): self.value(inner, name) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.value(inner, key) for inner in value]
        if isinstance(value, int) and "guid" in key:
            return self._number(value, self.pseudonyms.guid(value))
        return self._fact(value, key) if isinstance(value, str) else value

    def _fact(self, text: str, key: str) -> str:
        if key in ("host", "hostname"):
            return self._name(text)
        if key == NODE_DESC:
            return self._described(text)
        if "serial" in key or (key == "uuid" and not SHAPE.search(text)):
            return self._word(key, text)
        if key == "cluster" and DIGITS.fullmatch(text):
            self._number(int(text, 16), self.pseudonyms.digits(int(text, 16)))
        if key == "addresses" or key.startswith(SETTINGS):
            self._addressed(text)
        self._named(text)
        if key.startswith(SETTINGS):
            return self._setting(key, text)
        if text.startswith(("/", "~/")):
            return self.path(text)
        return self.text(without_secrets(text, self.pseudonyms.word))

    def _addressed(self, text: str) -> None:
        """Learn the IPv4 addresses in a text that holds such."""
        for address in DOTTED.findall(text):
            with contextlib.suppress(ValueError):
                self._addresses.add(int(ipaddress.IPv4Address(address)))

    def _name(self, text: str) -> str:
        """A host's name: its first label and its domain have pseudonyms of their own."""
        label, dot, domain = text.partition(".")
        parts = [(label, "host"), (domain, "domain")]
        return dot.join(self._word(kind, part) for part, kind in parts if part)

    def _named(self, text: str) -> None:
        """Learn the MAC that the name of an interface was made of, which need not be its address any more."""
        for digits in NAMED.findall(text):
            self._number(int(digits, 16), self.pseudonyms.mac(int(digits, 16)))

    def _described(self, text: str) -> str:
        """A node_desc, which the daemon of rdma-core makes "HOST DEVICE" and the driver "MT4129 ConnectX7 ..."."""
        first, space, rest = text.partition(" ")
        return (first if CHIP_NAME.fullmatch(first) else self._name(first)) + space + self.text(rest)

    def _word(self, kind: str, text: str) -> str:
        """A word that is a name or a number. One that could be any word is not looked for elsewhere."""
        if text.lower() in NOBODY:
            return text
        word = self.pseudonyms.word(kind, text)
        if len(text) > 3 and re.search(r"[\d.-]", text):
            self._words[text.lower()] = word
        return word

    def _number(self, value: int, pseudonym: int) -> int:
        """Keep a number's pseudonym, also for the order of bytes in which NCCL's XML spells GUIDs."""
        if value != pseudonym:
            self._numbers[value] = pseudonym
            self._numbers[_swapped(value)] = _swapped(pseudonym)
        return pseudonym

    def _shape(self, found: re.Match[str]) -> str:
        text, kind = found[0], found.lastgroup
        if kind == "ipv6":
            return self._ipv6(text)
        separator = "-" if kind == "uuid" else ":"
        digits = text.replace(separator, "")
        value = int(digits, 16)
        if kind == "ipoib":
            new = value >> 128 << 128 | self._gid(value & (1 << 128) - 1)
        else:
            make = {"eui": self.pseudonyms.guid, "mac": self.pseudonyms.mac, "uuid": self.pseudonyms.digits}[str(kind)]
            new = self._number(value, make(value))
        return _in_groups(f"{new:0{len(digits)}x}", text, separator)

    def _ipv6(self, text: str) -> str:
        try:
            address = ipaddress.IPv6Address(text)
        except ValueError:
            return text
        new = ipaddress.IPv6Address(self._gid(int(address)))
        return new.exploded if len(text) == len(new.exploded) else new.compressed

    def _gid(self, value: int) -> int:
        """The pseudonym of a GID; the GUID or IPv4 address in it is known from then on."""
        new = self.pseudonyms.ipv6(value)
        if value >> 32 == V4_MAPPED >> 32:
            self._addresses.add(value & 0xFFFFFFFF)
        else:
            self._number(value & (1 << 64) - 1, new & (1 << 64) - 1)
        return new

    def _digits(self, found: re.Match[str]) -> str:
        new = self._numbers.get(int(found[0], 16))
        return found[0] if new is None else f"{new:0{len(found[0])}x}"

    def _dotted(self, found: re.Match[str]) -> str:
        try:
            address = int(ipaddress.IPv4Address(found[0]))
        except ValueError:
            return found[0]
        return str(ipaddress.IPv4Address(self.pseudonyms.ipv4(address))) if address in self._addresses else found[0]


def _swapped(value: int) -> int:
    """The bytes of a number of 64 bits turned round; a longer one stays."""
    return int.from_bytes(value.to_bytes(8), "little") if value < 1 << 64 else value


def _strings(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every text in a JSON document with the key that it stands under."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _strings(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner, key)


def _in_groups(digits: str, like: str, separator: str) -> str:
    rest = iter(digits)
    return "".join(char if char == separator else next(rest) for char in like)
