# SPDX-License-Identifier: Apache-2.0
import os

import pytest

from railgauge.topo.errors import UsageError
from railgauge.transports.secret import job_secret, new_secret


def secret_file(folder, text="file's\n", mode=0o600):
    path = folder / "secret"
    path.write_text(text)
    path.chmod(mode)
    return {"RAILGAUGE_SECRET_FILE": str(path)}


def test_a_new_secret_is_32_random_bytes_as_hex():
    assert len(bytes.fromhex(new_secret())) == 32
    assert new_secret() != new_secret()


def test_without_one_it_is_empty():
    assert job_secret({}) == b""


def test_from_the_environment_or_a_file_without_white_space(tmp_path):
    assert job_secret({"RAILGAUGE_SECRET": " abc "}) == b"abc"
    assert job_secret(secret_file(tmp_path)) == b"file's"
    assert job_secret(secret_file(tmp_path) | {"RAILGAUGE_SECRET": "abc"}) == b"abc"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o660, 0o601])
def test_a_file_open_to_others_is_refused(tmp_path, mode):
    with pytest.raises(UsageError, match=f"mode {mode:04o}.*chmod 600"):
        job_secret(secret_file(tmp_path, mode=mode))


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_secret_is_refused(tmp_path, text):
    with pytest.raises(UsageError, match="empty"):
        job_secret(secret_file(tmp_path, text))
    with pytest.raises(UsageError, match="RAILGAUGE_SECRET is empty"):
        job_secret({"RAILGAUGE_SECRET": text})


def test_what_is_no_short_file_is_refused(tmp_path):
    with pytest.raises(UsageError, match="at most 4096 bytes"):
        job_secret(secret_file(tmp_path, "x" * 5000))
    os.mkfifo(tmp_path / "pipe", 0o600)
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(UsageError, match=str(path)):
            job_secret({"RAILGAUGE_SECRET_FILE": str(path)})
    with pytest.raises(UsageError, match="No such file"):
        job_secret({"RAILGAUGE_SECRET_FILE": str(tmp_path / "none")})


def test_no_message_shows_it(tmp_path):
    with pytest.raises(UsageError) as caught:
        job_secret(secret_file(tmp_path, "hunter2", 0o644))
    assert "hunter2" not in str(caught.value)
