# SPDX-License-Identifier: Apache-2.0
"""Entry point: subcommands load lazily, errors become their documented exit status.

A command's module is imported only when it is called, so `railgauge --version` needs neither rich nor numpy.
"""

import errno
import gc
import importlib
import os
import resource
import signal
import sys
from collections.abc import Callable

from railgauge.cli import everywhere

OUTPUT_FAILS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)  # without a file's name: of stdout
INTERRUPTED = 128 + signal.SIGINT
COMMANDS = {
    "topo": (
        "railgauge.cli.topo.commands",
        "Scan, show and explain a machine; pick GPUs and bind ranks.",
    ),
    "graph": (
        "railgauge.cli.graph.commands",
        "Ring and tree channels: search, show, lint, join, predict.",
    ),
    "cluster": (
        "railgauge.cli.cluster.commands",
        "All nodes at once: dump groups equal nodes, check finds problems, link measures between nodes.",
    ),
    "fabric": (
        "railgauge.cli.fabric.commands",
        "Switches and cables between nodes: show, rails, check, make.",
    ),
    "gdr": ("railgauge.cli.gdr.commands", "GPUDirect RDMA: check shows whether NCCL would use it, and if not, why."),
    "check": ("railgauge.cli.check.command", "Find the problems of a machine that slow or break NCCL."),
    "gate": ("railgauge.cli.gate.commands", "This node's verdict for a scheduler: slurm, npd, nfd, verdict."),
    "watch": ("railgauge.cli.watch", "Check this node again and again; say what changes."),
    "explain": ("railgauge.cli.explain", "What a finding is, how it shows, how to be sure, how to fix it."),
    "env": ("railgauge.cli.env", "NCCL's settings here: the effect of each, and whether it helps."),
    "run": ("railgauge.cli.run.command", "Run a validated collective over the planned channels."),
    "tune": ("railgauge.cli.tune.commands", "Measure which settings make stock NCCL faster than its own choice."),
    "link": (
        "railgauge.cli.link.command",
        "Measure bandwidth and latency between all ranks or GPUs; name the slow link or rank.",
    ),
    "judge": ("railgauge.cli.judge", "Is a measured bandwidth good? nccl-tests and other tables beside the forecast."),
    "log": (
        "railgauge.cli.log.commands",
        "Explain NCCL's logs and flight records; find the rank that a hung job waits for.",
    ),
    "nccl": (
        "railgauge.cli.nccl.commands",
        "Beside stock NCCL in a job: record what it does; report who is late, what is slow.",
    ),
    "machines": ("railgauge.cli.machines", "List the machines that --from @NAME reads."),
    "completion": ("railgauge.cli.completion.command", "Print the completion script for bash, zsh or fish."),
}

LEAST_MIB = 64  # of address space: in less, Python's own imports fail in any way, or never end
GARBAGE_PASS = 100_000  # allocations between two collections: the start makes tens of thousands of objects that stay
WRITE_TO_OTHERS = ("run", "cluster")  # to sockets and ssh: a reader that is gone has to be an error there, not a signal


def main() -> None:
    """Run the command line in this process and exit with its status."""
    run_program(dispatch)


def run_program(dispatch: Callable[[list[str]], int]) -> None:
    """Run what takes the command line's words and returns the exit status, and exit with that."""
    gc.set_threshold(GARBAGE_PASS)
    refuse_little_memory()
    fill_closed_streams()
    if sys.stdout is None:
        print(f"railgauge: stdout is closed: redirect it to a file or to {os.devnull}", file=sys.stderr)
        sys.exit(3)
    if sys.argv[1:2] not in ([name] for name in WRITE_TO_OTHERS):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # end as any filter does when its reader is gone
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # ranks of the local launcher start with it blocked
        status = dispatch(sys.argv[1:])
    except KeyboardInterrupt:  # before a command runs
        status = INTERRUPTED
    except (MemoryError, ImportError, SystemError) as error:  # there is no room even to load what would explain it
        os.write(2, f"railgauge: out of memory? {type(error).__name__} {error}\n".encode())
        status = 3
    if "railgauge._native" not in sys.modules:  # nanobind reports native objects that are never freed
        gc.freeze()  # Python looks through all objects twice at its end otherwise
    sys.exit(status)


def refuse_little_memory() -> None:
    """End with 3 where the limit of address space (ulimit -v) leaves no room for any command."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit >> 20 < LEAST_MIB:
        said = f"railgauge: out of memory: ulimit -v is {limit >> 20} MiB, and commands need {LEAST_MIB} or more\n"
        os.write(2, said.encode())
        sys.exit(3)


def fill_closed_streams() -> None:
    """Open /dev/null for a closed stdin, stdout or stderr: a later socket or file would get its number otherwise."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # takes the lowest free number
    if sys.stderr is None:  # print(file=None) goes to stdout
        sys.stderr = os.fdopen(2, "w", closefd=False)


def dispatch(args: list[str]) -> int:
    """Run one command line (without the program's name) and return its exit status."""
    from railgauge.cli.streams import guard_streams

    guard_streams()
    try:
        args = everywhere.take(args)
    except Exception as error:
        return explain("", error)
    if args[:1] == ["--version"]:
        from railgauge import __version__

        return say(f"railgauge {__version__}", 0)
    if not args or args[0] in ("--help", "-h"):
        return say(help_text(), 0 if args else 2)
    if args[0] not in COMMANDS:
        return unknown(args[0])
    return run_command(args[0], args[1:])


def say(text: str, status: int) -> int:
    """Print a text and return the status, or the status of a full disk."""
    try:
        print(text, flush=True)
    except OSError as error:
        return explain_os_error("railgauge", error)
    return status


def help_text() -> str:
    """The top-level help: a line for each command."""
    from railgauge.cli.help.first_page import first_page
    from railgauge.cli.help.text import page_text

    return page_text(first_page())


def unknown(name: str) -> int:
    """Report an unknown command, and suggest a similar one."""
    from railgauge.topo.values.near import did_you_mean

    hint = did_you_mean(name, COMMANDS) or "; try 'railgauge --help'"
    print(f"railgauge: no such command '{name}'{hint}", file=sys.stderr)
    return 2


def run_command(name: str, args: list[str]) -> int:
    """Load a command's typer app and run it; the exit status."""
    own = args.index("--") if "--" in args else len(args)  # what follows belongs to the command that `topo bind` runs

    def run() -> int:
        app = importlib.import_module(COMMANDS[name][0]).app
        status = int(app(args, prog_name=f"railgauge {name}", standalone_mode=False) or 0)
        if status == INTERRUPTED:  # typer's status for KeyboardInterrupt
            from railgauge.cli.interrupted import tell

            tell(name, args[:own])
        return status

    return with_errors_told(name, run)


def with_errors_told(name: str, run: Callable[[], int]) -> int:
    """The exit status of a command, whose errors become messages and their exit status."""
    try:
        status = run()
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as left:
        if isinstance(left.__context__, BrokenPipeError):  # click and typer turn it into status 1
            return reader_gone()
        raise
    except BrokenPipeError:
        return reader_gone()
    except OSError as error:
        trace()
        return explain_os_error(f"railgauge {name}".rstrip(), error)
    except Exception as error:
        trace()
        return explain(name, error)
    return status


def reader_gone() -> int:
    """Write nothing more to stdout, whose reader is gone; return the status of a filter that ends so."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 128 + signal.SIGPIPE


def trace() -> None:
    """Print the traceback of the error being handled if --debug asked for it; the exit status does not change."""
    if everywhere.debug:
        import traceback

        traceback.print_exc()


def explain_os_error(who: str, error: OSError) -> int:
    """Print the error of the operating system and return the exit status."""
    from railgauge.topo.errors import described, status_of

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python would write once more at exit
    if error.filename is None and error.errno in OUTPUT_FAILS:
        message = f"cannot write to stdout: {error.strerror}"
    else:
        message = f"{described(error)} (--debug shows where)"
    print(f"{who}: {message}", file=sys.stderr)
    return status_of(error)


def explain(command: str, error: Exception) -> int:
    """Print one error and return its exit status; expected are railgauge's own errors and typer's."""
    from railgauge.cli.streams import tell
    from railgauge.topo.errors import Error, described, status_of

    who = f"railgauge {command}".rstrip()
    if isinstance(error, Error):
        tell(f"{who}: {error}")
        return status_of(error)
    if getattr(error, "show", None) is not None:
        from railgauge.cli.help.misuse import explain_misuse

        return explain_misuse(who, error)
    status = getattr(error, "exit_code", None)  # typer.Exit
    if status is not None:
        return int(status)
    tell(f"{who}: {described(error)} (--debug shows where)")
    return status_of(error)


if __name__ == "__main__":
    main()
