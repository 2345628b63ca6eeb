# SPDX-License-Identifier: Apache-2.0
"""What a live reader has read, as a capture."""

import time
from collections.abc import Mapping
from dataclasses import replace

from railgauge.topo.facts.capture import SCHEMA, SEEN, Capture, folders
from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.redaction.configuration_files import kept


def capture_of(reader: LiveReader, host: str, environment: Mapping[str, str] | None = None) -> Capture:
    """Everything read so far, each answer as it was given; `environment`: the settings that apply when it replays.

    A folder that was only looked at is kept by a file in it, with the names listed.
    """
    from railgauge import __version__

    texts = {path: text for path, (text, _) in reader.texts.items() if text is not None}
    texts |= {path: _in_unicode(text) for path, (text, _) in reader.raws.items() if text is not None}
    links = {path: target for path, target in reader.links.items() if target is not None}
    seen = {path for path, (there, _) in reader.there.items() if there}
    known = folders((*texts, *links, *seen))
    for path, (names, _) in reader.listings.items():
        folder = path.rstrip("/")
        unread = set(names) - known.get(path, set())
        texts |= {f"{folder}/{SEEN}": "\n".join(sorted(unread))} if unread else {}
    texts |= {f"{path}/{SEEN}": texts.get(f"{path}/{SEEN}", "") for path in seen - {*texts, *known}}
    manifest = {
        "schema": SCHEMA,
        "host": host,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "version": __version__,
        "problems": dict(sorted(reader.problems.items())),
        "absent": sorted(path for path, real in reader.real.items() if reader.there.get(real or "") == (False, None)),
        "environment": dict(environment or {}),
    }
    made = Capture(manifest=manifest, texts=texts, links=links, facts=dict(reader.answers))
    return replace(made, texts=kept(made))


def _in_unicode(raw: str) -> str:
    return raw.encode("utf-8", "surrogateescape").decode("utf-8", "replace").removesuffix("\n")
