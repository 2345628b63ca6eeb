# SPDX-License-Identifier: Apache-2.0
"""The URL of the store through which the processes of a job find each other, as in torch.distributed.

env://                the address in MASTER_ADDR and MASTER_PORT
tcp://HOST:PORT       process 0 runs a TCPStore there
file:///PATH          a file that all processes see
pmi://                MPICH's mpirun, or another process manager that speaks PMI-1
pmix://               Open MPI's mpirun, or another launcher with a PMIx server
hash://               the memory of one process, which is the whole job
"""

import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from railgauge.topo.errors import AuthenticationError, UsageError
from railgauge.transports.store.file_store import FileStore
from railgauge.transports.store.hash_store import HashStore
from railgauge.transports.store.prefix_store import PrefixStore
from railgauge.transports.store.store import Store
from railgauge.transports.store.tcp_store import TCPStore
from railgauge.transports.store.turn_store import TurnStore


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """Who opens a store: this process among those of its job, and its settings."""

    process: int
    processes: int
    timeout: timedelta
    secret: bytes
    environ: Mapping[str, str]


def open_store(
    init_method: str,
    *,
    process: int,
    processes: int,
    timeout: timedelta,
    secret: bytes,
    environ: Mapping[str, str],
) -> Store:
    """Open the store that the URL names; process 0 runs its server if it needs one.

    RAILGAUGE_LISTEN_FD is a listening socket that process 0 takes over. With TORCHELASTIC_USE_AGENT_STORE=True the
    store at MASTER_ADDR is held by torchrun's agent, which has no job secret: process 0 is a client too. That store
    survives a restart of the workers and a further rendezvous, so each start has keys of its own, as in torch's
    `_env_rendezvous_handler`.

    Raises:
        UsageError: the URL or a variable that it needs is invalid, or process 0 cannot listen there.
        Error: as of the store.
    """
    url = _split(init_method)
    if url.query or url.fragment:
        raise UsageError(f"{init_method}: only a location is allowed here; give rank and world size as options")
    caller = Caller(process=process, processes=processes, timeout=timeout, secret=secret, environ=environ)
    return METHODS[url.scheme](url, caller)


def split_init_method(init_method: str) -> tuple[str, int | None, int | None]:
    """Take torch's query off, `tcp://HOST:PORT?rank=0&world_size=2`: the URL without it, rank and world size (None if
    absent).

    Raises:
        UsageError: the query has another name, or a value is not a number.
    """
    url = _split(init_method)
    query = urllib.parse.parse_qsl(url.query, keep_blank_values=True)
    if unknown := {name for name, _ in query} - {"rank", "world_size"}:
        raise UsageError(
            f"{init_method}: unknown parameter {', '.join(sorted(unknown))}: only rank and world_size are allowed"
        )
    found = {name: _number(text, f"{init_method}: {name}") for name, text in query}
    return init_method.partition("?")[0], found.get("rank"), found.get("world_size")


def _split(init_method: str) -> urllib.parse.SplitResult:
    try:
        url = urllib.parse.urlsplit(init_method)
    except ValueError:  # a bracket is missing
        url = None
    if url is None or url.scheme not in METHODS:
        names = ", ".join(f"{name}://" for name in METHODS)
        raise UsageError(f"{init_method!r} is not an init method: use {names} (tcp://HOST:PORT, file:///PATH)")
    return url


def _open_env(url: urllib.parse.SplitResult, caller: Caller) -> Store:
    if url.netloc or url.path:
        raise UsageError(f"{url.geturl()}: env:// takes no address; it reads MASTER_ADDR and MASTER_PORT")
    missing = [name for name in ("MASTER_ADDR", "MASTER_PORT") if not caller.environ.get(name)]
    if missing:
        raise UsageError(f"env:// needs {' and '.join(missing)} in the environment (the address of rank 0)")
    host = caller.environ["MASTER_ADDR"].strip().removeprefix("[").removesuffix("]")
    port = _port(_number(caller.environ["MASTER_PORT"], "MASTER_PORT"), "MASTER_PORT")
    if caller.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        attempt = caller.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        store = PrefixStore(f"/worker/attempt_{attempt}", TCPStore(host, port, timeout=caller.timeout))
        return TurnStore(store, caller.process)
    return _open_tcp_store(host, port, caller, "MASTER_ADDR ")


def _open_tcp(url: urllib.parse.SplitResult, caller: Caller) -> Store:
    try:
        host, port = url.hostname, url.port
    except ValueError:
        host, port = None, None
    if not host or not port or url.path.strip("/") or url.username is not None:
        raise UsageError(f"{url.geturl()}: expected tcp://HOST:PORT or tcp://[IPV6]:PORT with rank 0's address")
    return _open_tcp_store(host, port, caller, "")


def _open_tcp_store(host: str, port: int, caller: Caller, source: str) -> Store:
    """`source` is what the host came from, for messages."""
    is_master = caller.process == 0
    inherited = caller.environ.get("RAILGAUGE_LISTEN_FD") if is_master else None
    try:
        return TCPStore(
            host,
            port,
            is_master=is_master,
            timeout=caller.timeout,
            master_listen_fd=_number(inherited, "RAILGAUGE_LISTEN_FD") if inherited else None,
            secret=caller.secret,
        )
    except AuthenticationError:
        raise
    except UsageError as error:
        raise type(error)(f"{source}{error}") from None


def _open_file(url: urllib.parse.SplitResult, caller: Caller) -> Store:
    path = urllib.parse.unquote(url.path)
    if url.netloc not in ("", "localhost") or not path.startswith("/") or path.endswith("/"):
        raise UsageError(f"{url.geturl()}: expected file:///PATH with the absolute path of a file that all hosts see")
    return FileStore(path, caller.processes, caller.timeout)


def _open_hash(url: urllib.parse.SplitResult, caller: Caller) -> Store:
    if caller.processes != 1:
        raise UsageError(
            f"{url.scheme}:// works for one process, not {caller.processes}: use tcp://HOST:PORT or file:///PATH"
        )
    return HashStore(caller.timeout)


def _open_pmi(url: urllib.parse.SplitResult, caller: Caller) -> Store:
    from railgauge.transports.store.pmi_store import PMIStore

    return PMIStore(caller.timeout, caller.environ)


def _open_pmix(url: urllib.parse.SplitResult, caller: Caller) -> Store:
    from railgauge.transports.store.pmix_store import open_pmix

    return open_pmix(caller.processes, caller.timeout, caller.environ)


def _number(text: str, what: str) -> int:
    if not text.strip().isascii() or not text.strip().isdigit():
        raise UsageError(f"{what} is {text!r}: expected a number")
    return int(text)


def _port(port: int, what: str) -> int:
    if not 0 < port < 65536:
        raise UsageError(f"{what} is {port}: a port is between 1 and 65535")
    return port


METHODS: dict[str, Callable[[urllib.parse.SplitResult, Caller], Store]] = {
    "env": _open_env,
    "tcp": _open_tcp,
    "file": _open_file,
    "pmi": _open_pmi,
    "pmix": _open_pmix,
    "hash": _open_hash,
}
