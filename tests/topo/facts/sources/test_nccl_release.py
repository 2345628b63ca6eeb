# SPDX-License-Identifier: Apache-2.0
"""The release is in the name of the file that the library's link leads to, or it is not known."""

import pytest

from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.sources.nccl_release import FOLDERS, LIBRARY, read_nccl_release


def test_without_a_library_there_is_no_release(tmp_path):
    assert read_nccl_release(LiveReader(str(tmp_path))) is None


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize(("file", "release"), [(f"{LIBRARY[:-2]}.2.27.5", "2.27.5"), ("libnccl-of-a-package.so", None)])
def test_the_name_of_the_file_tells(tmp_path, folder, file, release):
    there = tmp_path / folder[1:]
    there.mkdir(parents=True)
    (there / file).touch()
    (there / LIBRARY).symlink_to(file)
    assert read_nccl_release(LiveReader(str(tmp_path))) == release
