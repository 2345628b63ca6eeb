# SPDX-License-Identifier: Apache-2.0
import os

import pytest

from railgauge.collectives.launch.ssh_host import MOST_SECRET
from railgauge.topo.errors import UsageError
from railgauge.transports.secret import job_secret, new_secret

LONG = "0123456789abcdef"


def secret_file(folder, text="the secret of a file\n", mode=0o600):
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
    assert job_secret({"RAILGAUGE_SECRET": f" {LONG} "}) == LONG.encode()
    assert job_secret(secret_file(tmp_path)) == b"the secret of a file"
    assert job_secret(secret_file(tmp_path) | {"RAILGAUGE_SECRET": LONG}) == LONG.encode()


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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x", "1 characters.*16 to 4096"),
        ("s3cret", "6 characters.*openssl rand"),
        ("é" * 7, "14 characters"),
        (LONG[:-1], "15 characters"),
        (LONG + "\0more", "NUL"),
        (LONG + "\nmore", "line break"),
        (LONG + "\rmore", "line break"),
        (LONG + "\x1b[2J", "control character"),
    ],
)
def test_a_secret_is_one_line_that_nobody_guesses(tmp_path, text, words):
    with pytest.raises(UsageError, match=f"RAILGAUGE_SECRET_FILE: .*{words}") as caught:
        job_secret(secret_file(tmp_path, text))
    assert text not in str(caught.value) or len(text) == 1
    with pytest.raises(UsageError, match=f"RAILGAUGE_SECRET .*{words}"):
        job_secret({"RAILGAUGE_SECRET": text})


def test_a_secret_is_no_longer_than_the_ssh_launcher_sends():
    assert job_secret({"RAILGAUGE_SECRET": "x" * 4096}) == b"x" * 4096
    assert MOST_SECRET > 4096
    with pytest.raises(UsageError, match="4097 characters"):
        job_secret({"RAILGAUGE_SECRET": "x" * 4097})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_another_user_is_refused(tmp_path):
    given = secret_file(tmp_path)
    os.chown(given["RAILGAUGE_SECRET_FILE"], 12345, -1)
    with pytest.raises(UsageError, match="belongs to uid 12345"):
        job_secret(given)


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
