# SPDX-License-Identifier: Apache-2.0
"""Entry point: subcommands load lazily, errors become their documented exit status.

A command's module is imported only when it is called, so `railgauge --version` needs neither rich nor numpy.
"""

import errno
import gc
import importlib
import os
import signal
import sys

OUTPUT_FAILS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)  # without a file's name: of stdout
INTERRUPTED = 128 + signal.SIGINT
COMMANDS = {
    "topo": (
        "railgauge.cli.topo.commands",
        "Scan a machine, show and explain it; pick GPUs for a job and bind its ranks: pick, bind.",
    ),
    "graph": (
        "railgauge.cli.graph.commands",
        "The ring and tree channels of a machine: search, show, lint, join, predict.",
    ),
    "cluster": (
        "railgauge.cli.cluster.commands",
        "All nodes at once: dump folds equal ones, check finds what is wrong, link measures between them.",
    ),
    "gdr": ("railgauge.cli.gdr.commands", "GPUDirect RDMA: check tells whether NCCL would use it, and if not, why."),
    "check": ("railgauge.cli.check.command", "Find what is wrong with a machine that NCCL is to run on."),
    "explain": ("railgauge.cli.explain", "What a finding is, how it shows, how to be sure, how to fix it."),
    "env": ("railgauge.cli.env", "NCCL's settings here: what each comes to, and whether it does any good."),
    "run": ("railgauge.cli.run.command", "Run a validated collective over the planned channels."),
    "link": (
        "railgauge.cli.link.command",
        "Bandwidth and latency between all ranks, checked; the slow link or rank is named.",
    ),
    "log": (
        "railgauge.cli.log.commands",
        "What a run left behind: explain NCCL's logs and flight records; who is missing in a hang.",
    ),
}

GARBAGE_PASS = 100_000  # objects made between two: starting makes tens of thousands, and all of them stay
WRITE_TO_OTHERS = ("run", "cluster")  # to sockets and to ssh, where a lost reader must be an error and not a signal

HELP = """\
Usage: railgauge COMMAND [ARGS]...

The truth about the wires between the GPUs of a cluster, proved by running on them.

Commands:
{commands}

Options:
  --version  Show the version and exit.
  --help     Show this message and exit.

`railgauge COMMAND --help` tells more. Exit status: 0 good; 1 findings; 2 usage; 3 something is absent;
4 verification or measurement failed; 5 bad input; 70 an error of railgauge itself; 130 interrupted."""


def main() -> None:
    """Run the command line in this process, which is its own, and leave with its exit status."""
    gc.set_threshold(GARBAGE_PASS)
    fill_closed_streams()
    if sys.stdout is None:
        print(f"railgauge: stdout is closed: give it a file, or {os.devnull}", file=sys.stderr)
        sys.exit(3)
    if sys.argv[1:2] not in ([name] for name in WRITE_TO_OTHERS):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # end as any filter does when its reader has gone
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # the local launcher's ranks start with it blocked
        status = dispatch(sys.argv[1:])
    except KeyboardInterrupt:  # before a command runs
        status = INTERRUPTED
    sys.exit(status)


def fill_closed_streams() -> None:
    """Put /dev/null where stdin, stdout or stderr is closed: a socket or a file would be taken for it otherwise."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest that is free
    if sys.stderr is None:  # print(file=None) goes to stdout
        sys.stderr = os.fdopen(2, "w", closefd=False)


def dispatch(args: list[str]) -> int:
    """Run one command line (without the program's name) and return its exit status."""
    from railgauge.cli.streams import guard_streams

    guard_streams()
    if args[:1] == ["--version"]:
        from railgauge import __version__

        return say(f"railgauge {__version__}", 0)
    if not args or args[0] in ("--help", "-h"):
        return say(help_text(), 0 if args else 2)
    if args[0] not in COMMANDS:
        return unknown(args[0])
    return run_command(args[0], args[1:])


def say(text: str, status: int) -> int:
    """Print a text and return the status, or that of a disk that is full."""
    try:
        print(text, flush=True)
    except OSError as error:
        return explain_os_error("railgauge", error)
    return status


def help_text() -> str:
    """The top-level help: one line per command."""
    return HELP.format(commands="\n".join(f"  {name:<9}{line}" for name, (_, line) in COMMANDS.items()))


def unknown(name: str) -> int:
    """Say that there is no such command, and which one may have been meant."""
    import difflib

    near = difflib.get_close_matches(name, COMMANDS, 1)
    hint = f"did you mean '{near[0]}'?" if near else "try 'railgauge --help'"
    print(f"railgauge: no such command '{name}': {hint}", file=sys.stderr)
    return 2


def run_command(name: str, args: list[str]) -> int:
    """Load a command's typer app, run it, and turn errors into messages and exit status."""
    own = args.index("--") if "--" in args else len(args)  # what follows is a command's that `topo bind` runs
    debug = "--debug" in args[:own]
    args = [a for a in args[:own] if a != "--debug"] + args[own:]
    try:
        app = importlib.import_module(COMMANDS[name][0]).app
        status = int(app(args, prog_name=f"railgauge {name}", standalone_mode=False) or 0)
        if status == INTERRUPTED:  # typer's status of KeyboardInterrupt
            from railgauge.cli.interrupted import tell

            tell(name, args[:own])
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as left:
        if isinstance(left.__context__, BrokenPipeError):  # click and typer make status 1 of it
            return reader_gone()
        raise
    except BrokenPipeError:
        return reader_gone()
    except OSError as error:
        trace(debug)
        return explain_os_error(f"railgauge {name}", error)
    except Exception as error:
        trace(debug)
        return explain(name, error)
    return status


def reader_gone() -> int:
    """Write nothing more to stdout, whose reader has gone; the status of a filter that ends so."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 128 + signal.SIGPIPE


def trace(debug: bool) -> None:
    """Show where the error being handled was raised, if that is wanted; the status stays the error's."""
    if debug:
        import traceback

        traceback.print_exc()


def explain_os_error(who: str, error: OSError) -> int:
    """Print what the system refused, and return the exit status."""
    from railgauge.topo.errors import described, status_of

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the exit would try to write once more
    if error.filename is None and error.errno in OUTPUT_FAILS:
        said = f"cannot write to stdout: {error.strerror}"
    else:
        said = f"{described(error)} (--debug shows where)"
    print(f"{who}: {said}", file=sys.stderr)
    return status_of(error)


def explain(command: str, error: Exception) -> int:
    """Print one error and return its exit status; only railgauge's and typer's own are expected here."""
    from railgauge.cli.streams import tell
    from railgauge.topo.errors import Error, described, status_of

    if isinstance(error, Error):
        tell(f"railgauge {command}: {error}")
        return status_of(error)
    show = getattr(error, "show", None)  # typer's usage errors
    if show is not None:
        show()
        return int(getattr(error, "exit_code", 2))
    status = getattr(error, "exit_code", None)  # typer.Exit
    if status is not None:
        return int(status)
    tell(f"railgauge {command}: {described(error)} (--debug shows where)")
    return status_of(error)


if __name__ == "__main__":
    main()
