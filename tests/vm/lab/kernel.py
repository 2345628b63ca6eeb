# SPDX-License-Identifier: Apache-2.0
"""Debian's kernel, made ready to boot in QEMU: fetched once as a package, kept unpacked in build/vmlab."""

import lzma
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.vm.lab import initramfs

HERE = Path(__file__).parent
HOME = HERE.parents[2] / "build" / "vmlab"
METAPACKAGE = "linux-image-amd64"
XZ = b"\xfd7zXZ\x00"
BOOT_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")  # guests load all others themselves
MODULES = (
    *("crypto", "lib", "arch/x86/crypto", "fs/9p", "fs/netfs", "fs/fscache", "fs/overlayfs", "fs/configfs"),
    *("net/9p", "net/ipv4", "net/ipv6", "net/core", "drivers/virtio", "drivers/infiniband"),
    *("net/sched/sch_netem.ko", "drivers/net/ethernet/intel/e1000e", "drivers/net/ethernet/mellanox"),
    *("drivers/net/virtio_net.ko", "drivers/net/net_failover.ko"),
)  # of a package that unpacks to 400 MB


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """What QEMU boots, and the folder that is the guest's /lib/modules."""

    image: Path
    initrd: Path
    modules: Path


def ready() -> Kernel:
    """The kernel; fetched and unpacked when it is not there yet, which needs apt's lists and 200 MB of disk."""
    if not (HOME / "kernel").is_dir():
        _fetch()
    kernel = Kernel(image=HOME / "vmlinux", initrd=HOME / "initrd", modules=HOME / "kernel" / "lib" / "modules")
    version = next(kernel.modules.iterdir()).name
    if not kernel.image.is_file():
        kernel.image.write_bytes(_elf((HOME / f"kernel/boot/vmlinuz-{version}").read_bytes()))
    kernel.initrd.write_bytes(_initrd(version))
    return kernel


def _fetch() -> None:
    HOME.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=HOME) as scratch:
        unpacked = Path(scratch) / "kernel"
        unpacked.mkdir()
        _unpack(_download(Path(scratch)), unpacked)
        version = next((unpacked / "lib/modules").iterdir()).name
        _run("depmod", "-b", unpacked, version)
        unpacked.rename(HOME / "kernel")


def _download(folder: Path) -> Path:
    depends = re.search(r"Depends: (linux-image-\S+)", _run("apt-cache", "depends", METAPACKAGE))
    if depends is None:
        raise RuntimeError(f"apt knows no {METAPACKAGE}: the lab is made for Debian 12 on x86-64 (apt-get update?)")
    _run("apt-get", "download", depends[1], folder=folder)
    return next(folder.glob("*.deb"))


def _unpack(package: Path, into: Path) -> None:
    wanted = ["./boot/vmlinuz-*", "./lib/modules/*/modules.*", *(f"./lib/modules/*/kernel/{name}" for name in MODULES)]
    command = ["tar", "x", "-C", str(into), "--wildcards", "--no-wildcards-match-slash", *wanted]
    with subprocess.Popen(["dpkg", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE) as archive:
        subprocess.run(command, stdin=archive.stdout, check=True)
    if archive.returncode:
        raise RuntimeError(f"dpkg cannot unpack {package}: status {archive.returncode}")


def _elf(image: bytes) -> bytes:
    """The kernel proper, which boots at once: the image's own start would unpack it in emulation."""
    return lzma.LZMADecompressor().decompress(image[image.find(XZ) :])


def _initrd(version: str) -> bytes:
    busybox = shutil.which("busybox")
    if busybox is None:
        raise RuntimeError("no busybox: scripts/prerequisites vm installs it")
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        for folder in ("bin", "modules", "proc", "sys", "dev", "ro", "rw", "new"):
            (root / folder).mkdir()
        shutil.copy(busybox, root / "bin" / "busybox")
        shutil.copy(HERE / "init.sh", root / "init")
        (root / "init").chmod(0o755)
        modules = list(dict.fromkeys(path for name in BOOT_MODULES for path in _with_dependencies(name, version)))
        for module in modules:
            shutil.copy(module, root / "modules")
        (root / "modules" / "order").write_text("".join(f"{module.name}\n" for module in modules))
        return initramfs.pack(root)


def _with_dependencies(module: str, version: str) -> list[Path]:
    lines = _run("modprobe", "-d", HOME / "kernel", "-S", version, "--show-depends", module)
    return [Path(path) for path in re.findall(r"^insmod (\S+)", lines, re.MULTILINE)]


def _run(*command: str | Path, folder: Path | None = None) -> str:
    done = subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))} failed: {done.stderr.strip()[-500:]}")
    return done.stdout
