# SPDX-License-Identifier: Apache-2.0
"""Completion: what stands at the end of a line, and the scripts in real shells."""

import contextlib
import os
import pty
import select
import shutil
import subprocess
import sys

import pytest
from tests.cli.command import clean_environment, in_process
from tests.patience import HANGS_AFTER_S

from railgauge.cli.completion.line import complete_line
from railgauge.cli.main import COMMANDS


def values(line, breaks=""):
    return [value for value, _ in complete_line(line, breaks)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("railgauge ch", ["check"]),
        ("railgauge --debug --color never ch", ["check"]),
        ("railgauge topo pa", ["paths"]),
        ("railgauge topo show --v", ["--view"]),
        ("railgauge topo show --view ", ["tree", "matrix", "rdma"]),
        ("railgauge topo show --view=m", ["--view=matrix"]),
        ("railgauge topo show --view tree --v", []),
        ("railgauge check --from @dgx-2", ["@dgx-2"]),
        ("railgauge topo diff @laptop @dgx-2", ["@dgx-2"]),
        ("railgauge check --from li", ["live"]),
        ("railgauge topo paths --from @dgx-h100 GPU0 mlx5_1", ["mlx5_1", "mlx5_10", "mlx5_11"]),
        ("railgauge topo paths --from=@dgx-h100 GPU0 NU", ["NUMA0", "NUMA1"]),
        ("railgauge gdr check --from @h200x4 ", ["GPU0", "GPU1", "GPU2", "GPU3"]),
        ("railgauge topo pick --from @h200x4 --gpus 0,", ["0,0", "0,1", "0,2", "0,3"]),
        ("railgauge explain pcie-l", ["pcie-link-degraded"]),
        ("railgauge check --only acs", ["acs-enabled"]),
        ("railgauge run all_g", ["all_gather"]),
        ("railgauge run all_reduce -d f8", ["f8e4m3", "f8e5m2"]),
        ("railgauge link --transport N", ["NET/Socket", "NET/IB"]),
        ("railgauge graph search --set NCCL_CROSS", ["NCCL_CROSS_NIC="]),
        ("railgauge --color a", ["auto", "always"]),
        ("railgauge check --deb", ["--debug"]),
        ("railgauge completion z", ["zsh"]),
        ("railgauge topo bind --rank 0 -- l", []),
        ("railgauge topo paths GPU0 GPU1 ", []),
        ("railgauge nonsense ", []),
        ("railgauge topo paths --from /dev/zero ", []),
        ("railgauge topo paths --from @nonsense ", []),
        ("railgauge topo paths --color blue ", []),
    ],
)
def test_the_end_of_a_line(line, expected):
    assert values(line) == expected


def test_without_a_word_each_command_is_offered():
    assert values("railgauge ") == list(COMMANDS)
    assert set(values("/usr/bin/railgauge --")) == {"--version", "--debug", "--help", "--color"}


def test_files_and_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "node one.xml").touch()
    (tmp_path / "captures").mkdir()
    assert values("railgauge topo lint ") == ["captures/", "node one.xml"]
    assert values("railgauge cluster check --from c") == ["captures/"]
    (tmp_path / "cut.xml").touch()
    assert values("railgauge cluster check --from c") == ["captures/"]
    assert values("railgauge cluster check -o c") == ["captures/", "cut.xml"]
    assert values("railgauge run all_reduce -o c") == ["captures/", "cut.xml"]
    assert values("railgauge check --from c") == ["captures/", "cut.xml"]
    (tmp_path / "@dgx-2").touch()
    assert values("railgauge check --from @dgx-2") == ["@dgx-2"]
    assert values(f"railgauge topo lint {tmp_path}/n") == [f"{tmp_path}/node one.xml"]


def test_a_shell_that_splits_words_gets_the_rest():
    assert values("railgauge check --from @dgx-2", breaks="@=:") == ["dgx-2"]
    assert values("railgauge check --from=@dgx-2", breaks=" =:") == ["@dgx-2"]


def test_completion_of_this_machine_runs_nothing_and_asks_no_driver():
    code = (
        "import sys\nseen = []\n"
        "sys.addaudithook(lambda event, args: seen.append((event, args)) if args[:1] != (None,) and event in "
        "('subprocess.Popen', 'os.fork', 'os.posix_spawn', 'socket.connect', 'ctypes.dlopen') else None)\n"
        "from railgauge.cli.completion.line import complete_line\n"
        "complete_line('railgauge topo paths '), complete_line('railgauge gdr check GPU0 ')\n"
        "print(seen, [name for name in ('pynvml', 'numpy', 'rich', 'railgauge._native') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[] []\n"


@pytest.mark.parametrize(("shell", "says"), [("bahs", "did you mean bash"), (None, "no shell given")])
def test_another_shell_is_a_wrong_usage(shell, says):
    done = in_process("completion", *([shell] if shell else []))
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr


@pytest.fixture
def on_path(tmp_path):
    """An environment whose PATH begins with a railgauge of this tree."""
    program = tmp_path / "railgauge"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m railgauge "$@"\n')
    program.chmod(0o755)
    return clean_environment(PATH=f"{tmp_path}:{os.environ['PATH']}", PWD=str(tmp_path), HOME=str(tmp_path))


def script(shell):
    return in_process("completion", shell).stdout


def run_shell(environment, *command):
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, timeout=HANGS_AFTER_S
    ).stdout


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("railgauge topo pa", "paths"),
        ("railgauge check --from @dgx-2", "dgx-2"),
        ("railgauge check --from=@dgx-2", "dgx-2"),
        ("railgauge nonsense ", ""),
    ],
)
def test_bash_completes(on_path, line, expected):
    asked = f"{script('bash')}\nCOMP_LINE={line!r} COMP_POINT={len(line)}; _railgauge 2>&-; echo ${{COMPREPLY[@]}}"
    assert run_shell(on_path, "bash", "--norc", "-c", asked) == f"{expected}\n"


@pytest.mark.skipif(not shutil.which("fish"), reason="no fish here")
def test_fish_completes(on_path):
    lines = ("gdr ch", "check --from @dgx-2", "check --fail-o", "topo paths --from @h200x4 GPU3")
    asked = "\n".join((script("fish"), *(f"complete -C 'railgauge {line}'" for line in lines)))
    command, fixture, option, device = run_shell(on_path, "fish", "--no-config", "-c", asked).splitlines()
    assert (command.split("\t")[0], option.split("\t")[0], device) == ("check", "--fail-on", "GPU3")
    assert fixture.startswith("@dgx-2\t16 V100")


@pytest.mark.skipif(not shutil.which("zsh"), reason="no zsh here")
def test_zsh_completes(on_path, tmp_path):
    """In an interactive zsh, which is typed at."""
    (tmp_path / "script").write_text(script("zsh"))
    answer = tmp_path / "answer"
    typed = (
        f"autoload -Uz compinit; compinit -u -D; source {tmp_path}/script\n",
        f"railgauge topo pat\t--help > {answer}.part; mv {answer}.part {answer}; exit\n",
    )
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe("zsh", ["zsh", "-f", "-i"], on_path | {"TERM": "dumb"})
    for text in typed:
        os.write(terminal, text.encode())
    with contextlib.suppress(OSError):  # the terminal is gone when zsh ends
        while select.select([terminal], [], [], HANGS_AFTER_S)[0] and os.read(terminal, 4096):
            pass
    os.close(terminal)
    os.waitpid(child, 0)
    assert "Usage: railgauge topo paths" in answer.read_text()
