# SPDX-License-Identifier: Apache-2.0
"""The count of NCCL's warnings reads texts from sources as a log would have them."""

import subprocess
import sys
from pathlib import Path

from scripts.warnings_of_nccl import Warned, as_logged, texts_of
from tests.patience import HANGS_AFTER_S

from railgauge.topo.jobs.logs.catalogue import entry_of

SOURCE = """
  WARN("NET/Z : peer %s gave %d" " of %" PRIu64, a, b, c);
  WARN("%s", text);
  INFO(NCCL_NET, "not this");
  WARN("first\\n");
"""


def test_texts_are_joined_and_filled_in():
    texts = list(texts_of(SOURCE))
    assert texts == ["NET/Z : peer %s gave %d of %d", "first\\n"]
    assert as_logged(Warned(texts[0], "src/misc/z.cc")) == "misc/z.cc:12 NET/Z : peer abc gave 17 of 17"


def test_words_that_no_card_has_do_not_count():
    assert entry_of(as_logged(Warned("Zork", "src/zork.cc")), "WARN") is None
    assert entry_of(as_logged(Warned("Failed to malloc %ld bytes", "src/zork.cc")), "WARN") is not None


def test_a_repository_is_counted_by_tag(tmp_path):
    def git(*words):
        names = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(
            ["git", "-C", str(tmp_path), *names, *words], check=True, timeout=HANGS_AFTER_S, capture_output=True
        )

    git("init", "-q")
    (tmp_path / "a.cc").write_text('WARN("Failed to malloc %ld bytes", n);\nWARN("Zork");\n')
    git("add", "a.cc")
    git("commit", "-qm", "a")
    git("tag", "v1")
    done = subprocess.run(
        [sys.executable, "-m", "scripts.warnings_of_nccl", "--missing", str(tmp_path), "v1"],
        cwd=Path(__file__).parents[4],
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
        check=False,
    )
    assert done.returncode == 1  # half of them are known
    assert "1 of 2 texts are known" in done.stdout
    assert done.stdout.splitlines()[-1] == "a.cc"
