# SPDX-License-Identifier: Apache-2.0
"""Text that tries to be more than text, and how to see that it is not."""

import csv
import json
import os
import pty
import re
import shutil
import subprocess
import threading
from html.parser import HTMLParser
from xml.etree import ElementTree

from tests.cli.command import clean_environment, command
from tests.patience import HANGS_AFTER_S

from railgauge.topo.values.printable import CONTROL

FORGED = "FORGED: no findings"
HOSTILE = (
    "x\x1b]52;c;ZXZpbA==\x07\x1b[8m\x1b[2J\x9b31m\u202egpj\u2066\u200b\x00\x7f\r\x85\u2028\u2029\ud83d\x08"
    f"\n{FORGED}\n</title></style><script>alert(1)</script><img src=x onerror=alert(1)>"
    "\"' onload=alert(1) x='[/red]{}"
)
IN_XML = (
    "x\u009b31m\u009d52;c;x\u009c&#x9b;&#127;\u202egpj\u2066\u200b&#13;\u0085\u2028"
    f"&#10;{FORGED}&#10;&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;' onload=alert(1) [/red]"
)
SGR = re.compile(r"\x1b\[(?!8m)[0-9;]*m")  # colours and bold; nothing conceals
PROGRESS = re.compile(r"\r\x1b\[K|\x1b\[\?25[lh]|\x1b\[[12][AK]|\r")
SETTINGS = ("NCCL_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_NET", "NCCL_DEBUG", "NCCL_ALGO", "NCCL_NO_SUCH", "NCCL_COMM_ID")


def assert_clean(text, *, tty=False):
    if tty:
        text = PROGRESS.sub("", SGR.sub("", text.replace("\r\n", "\n")))
    found = CONTROL.findall(text)
    assert found == [], text[max(0, text.find(found[0]) - 200) :][:400]
    assert not [line for line in text.splitlines() if line.startswith("FORGED")], text


class Page(HTMLParser):
    """What a browser would run or load."""

    def __init__(self):
        super().__init__()
        self.active = []

    def handle_starttag(self, tag, attrs):
        bad = [name for name, value in attrs if name.startswith("on") or name in ("src", "href", "srcset", "style")]
        if tag in ("script", "img", "iframe", "object", "embed", "link", "base", "form", "foreignobject") or bad:
            self.active.append((tag, bad))


def assert_inert(path):
    text = path.read_text()
    assert_clean(text)
    if path.suffix == ".json":
        assert text.isascii()
        json.loads(text)
    elif path.suffix in (".svg", ".html"):
        page = Page()
        page.feed(text)
        assert page.active == []
        pictures = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
        assert pictures
        for picture in pictures:
            ElementTree.fromstring(picture)
    elif path.suffix == ".dot" and shutil.which("dot"):
        assert subprocess.run(["dot", "-Tplain", path], capture_output=True, check=False).returncode == 0
    elif path.suffix == ".xml":
        ElementTree.fromstring(text)
    elif path.suffix == ".csv":
        rows = list(csv.reader(text.splitlines()))
        assert len(rows) > 1
        assert {len(row) for row in rows} == {len(rows[0])}
    elif path.suffix == ".prom":
        line = r'# .*|\w+(?:\{(?:\w+="(?:[^"\\\n]|\\[\\"n])*",?)*\})? [\d.e+]+'
        assert [one for one in text.splitlines() if not re.fullmatch(line, one)] == []


def at_terminal(*args, **env):
    """What a terminal gets of stdout and stderr, and the status."""
    ours, theirs = pty.openpty()
    got = []

    def read():
        try:
            while data := os.read(ours, 65536):
                got.append(data)
        except OSError:
            pass  # the other end is closed

    reader = threading.Thread(target=read)
    reader.start()
    colours = clean_environment(TERM="xterm-256color", **env)
    process = subprocess.Popen(command(*args), env=colours, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    status = process.wait(timeout=HANGS_AFTER_S)
    reader.join()
    os.close(ours)
    return b"".join(got).decode("utf-8", "surrogateescape"), status
