# SPDX-License-Identifier: LGPL-2.1-or-later
"""Builds and caches the guest's disk: a small Debian with systemd and databases.

    tests/vm/image.py SUITE...

An image is a directory with `disk.img` (raw, with an MBR and one ext4 partition; it is never written to after it was
made) and a file for each kernel. It is named by a hash of everything that made it, so a change of this file makes a new
image, and none has to be removed by hand.
"""

from __future__ import annotations

import hashlib
import shutil
import struct
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import debian_tree
from debian_tree import DebianError, run

# Forky changes, so it is used only for what the others do not have. The name of a suite for another architecture than
# the host's ends with the architecture.
SUITES = ("bookworm", "trixie", "forky", "trixie-arm64")

# What the host needs, for scripts/run-tests.
APT_PACKAGES = (
    "cpio",
    "e2fsprogs",
    "mmdebstrap",
    "qemu-system-x86",
    "qemu-utils",
    "tar",
    "xz-utils",
)

# What the host needs for suites of other architectures.
FOREIGN_APT_PACKAGES = ("arch-test", "qemu-system-arm", "qemu-user-static")

# The guest's packages, besides Debian's minimal base.
GUEST_PACKAGES = (
    "dbus",
    "kmod",
    "libhugetlbfs-bin",
    "libjansson4",
    "libsystemd0",
    "numactl",
    "postgresql",
    "procps",
    "python3",  # not python3-minimal: the checks need json and mmap
    "systemd",
    "systemd-sysv",
    "udev",
)

# Packages for scenarios on a suite. Under emulation an installation takes minutes.
NATIVE_PACKAGES = ("mariadb-server", "tuned")
SUITE_PACKAGES = {
    "bookworm": (*NATIVE_PACKAGES, "ansible-core", "cron", "etcd-server", "patroni", "python3-apt"),
    "trixie": (*NATIVE_PACKAGES, "busybox-static", "crun", "podman", "rpm", "tomcat10"),
    "forky": (*NATIVE_PACKAGES, "systemd-report"),
    "trixie-arm64": ("busybox-static",),
}

# The kernels of a suite; a boot uses the first one, unless it names another. They are only unpacked, because their
# maintainer scripts would build an initrd, which is not used.
KERNEL_PACKAGES = {
    "bookworm": ("linux-image-cloud-amd64",),
    "trixie": ("linux-image-cloud-amd64", "linux-image-amd64"),
    "forky": ("linux-image-cloud-amd64",),
    "trixie-arm64": ("linux-image-cloud-arm64", "linux-image-arm64-16k"),
}

# The modules that a kernel without built-in drivers needs for its root file system.
ROOT_MODULES = ("nvme", "crc32c_generic", "ext4")
ROOT_INIT = """\
#!/bin/busybox sh
for module in /modules/*; do
    busybox insmod "$module"
done
busybox mount -t devtmpfs devtmpfs /dev
until busybox mount -t ext4 -o ro /dev/nvme0n*p1 /root 2>/dev/null; do
    busybox sleep 0.1
done
exec busybox switch_root /root /usr/sbin/hugeplan-vm-init "$@"
"""

# Units that no test needs; each of them takes time under emulation.
MASKED_UNITS = (
    "apt-daily-upgrade.timer",
    "apt-daily.timer",
    "cryptsetup.target",
    "dev-mqueue.mount",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
    "getty.target",
    "integritysetup.target",
    "kmod-static-nodes.service",
    "modprobe@.service",
    "proc-sys-fs-binfmt_misc.automount",
    "sys-fs-fuse-connections.mount",
    "sys-kernel-config.mount",
    "sys-kernel-debug.mount",
    "sys-kernel-tracing.mount",
    "systemd-ask-password-console.path",
    "systemd-ask-password-wall.path",
    "systemd-binfmt.service",
    "systemd-firstboot.service",
    "systemd-initctl.socket",
    "systemd-logind.service",
    "systemd-network-generator.service",
    "systemd-networkd-wait-online.service",
    "systemd-pcrphase-sysinit.service",
    "systemd-pcrphase.service",
    "systemd-pstore.service",
    "systemd-random-seed.service",
    "systemd-tmpfiles-clean.timer",
    "systemd-tmpfiles-setup-dev-early.service",
    "systemd-tmpfiles-setup-dev.service",
    "systemd-tpm2-setup-early.service",
    "systemd-tpm2-setup.service",
    "systemd-udev-load-credentials.service",
    "systemd-update-utmp-runlevel.service",
    "systemd-update-utmp.service",
    "systemd-user-sessions.service",
    "veritysetup.target",
)

# systemd's other generators are for disks, consoles and boot loaders that the guest does not have.
KEPT_GENERATORS = ("postgresql-generator", "systemd-fstab-generator")

# Units of packages for single scenarios, which start them.
DISABLED_UNITS = (
    "cron.service",
    "etcd.service",
    "mariadb.service",
    "mariadb.socket",
    "patroni.service",
    "podman-auto-update.timer",
    "podman-clean-transient.service",
    "podman-restart.service",
    "podman.socket",
    "tomcat10.service",
    "tuned.service",
)

# Modules for devices and processor features that no test uses.
BLACKLISTED_MODULES = (
    "aesni_intel",
    "button",
    "crc32_pclmul",
    "crct10dif_pclmul",
    "evdev",
    "ghash_clmulni_intel",
    "i2c_i801",
    "iTCO_wdt",
    "lpc_ich",
    "pcspkr",
    "polyval_clmulni",
    "psmouse",
    "serio_raw",
    "sha1_ssse3",
    "sha256_ssse3",
    "sha512_ssse3",
)

UNWANTED_PATHS = (
    "/usr/share/doc/*",
    "/usr/share/info/*",
    "/usr/share/locale/*",
    "/usr/share/man/*",
)

HOST_ARCHITECTURE = "amd64"

DISK_SIGNATURE = 0x68756765
ROOT_DEVICE = f"PARTUUID={DISK_SIGNATURE:08x}-01"
SECTOR = 512
PARTITION_START = 2048 * SECTOR
FREE_SPACE = 2 << 30

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Image:
    suite: str
    directory: Path

    @property
    def architecture(self) -> str:
        return architecture(self.suite)

    @property
    def disk(self) -> Path:
        return self.directory / "disk.img"

    def kernel_args(self, kernel: str) -> list[str]:
        """The arguments of qemu for one of KERNEL_PACKAGES."""
        kernel = kernel or KERNEL_PACKAGES[self.suite][0]
        initrd = self.directory / f"{kernel}.initrd"
        found = ["-kernel", str(self.directory / kernel)]
        return [*found, "-initrd", str(initrd)] if initrd.exists() else found


def architecture(suite: str) -> str:
    return suite.partition("-")[2] or HOST_ARCHITECTURE


def is_foreign(suite: str) -> bool:
    return architecture(suite) != HOST_ARCHITECTURE


def cached_image(suite: str) -> Image:
    """The image of a suite, which is built first if the cache does not have it."""
    if suite not in SUITES:
        raise DebianError(f"no such suite: {suite}; one of {', '.join(SUITES)}")
    cache = debian_tree.cache_directory("HUGEPLAN_VM_CACHE", "hugeplan-vm")
    name = f"{suite}-{_fingerprint(suite)}"
    return Image(suite, debian_tree.cached(cache, name, lambda work: _build(suite, work)))


def _fingerprint(suite: str) -> str:
    digest = hashlib.sha256(suite.encode())
    for source in (Path(__file__), HERE / "debian_tree.py", HERE / "init.sh"):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _build(suite: str, work: Path) -> Path:
    print(f"# building the {suite} image", file=sys.stderr, flush=True)
    began = time.monotonic()
    tree, image = work / "tree", work / "image"
    # Debian's packages into `tree`, and each kernel's package files into a directory of `work`.
    kernels = KERNEL_PACKAGES[suite]
    # The first dependency of the metapackage is the kernel, which consists of several packages since Debian 14.
    fetch_kernels = (
        "export APT_CONFIG=$MMDEBSTRAP_APT_CONFIG; "
        "parts() { apt-cache depends $1 | sed -n \"s/^ *Depends: \\\\(linux-$2-[0-9]\\\\)/\\\\1/p\"; }; "
        f"set -e; for kernel in {' '.join(kernels)}; do name=$(parts $kernel image); "
        f"mkdir '{work}'/$kernel; cd '{work}'/$kernel; apt-get download $name $(parts $name '[a-z]*'); done"
    )
    options = [f"--dpkgopt=path-exclude={path}" for path in UNWANTED_PATHS]
    options += [f"--customize-hook={fetch_kernels}", f"--architectures={architecture(suite)}"]
    # The packages of Java link their manuals into this directory, although manuals are excluded.
    options.append('--essential-hook=mkdir -p "$1/usr/share/man/man1"')
    packages = (*GUEST_PACKAGES, *SUITE_PACKAGES[suite])
    image.mkdir()
    with debian_tree.programs_run(architecture(suite)):
        debian_tree.bootstrap(suite.partition("-")[0], packages, tree, options)
        for kernel in kernels:
            _install_kernel(tree, work / kernel, image / kernel)
        _configure(tree)
    _write_disk(tree, image / "disk.img")
    print(f"# built in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return image


def _install_kernel(tree: Path, packages: Path, kernel: Path) -> None:
    unpacked = packages / "unpacked"
    for package in packages.glob("*.deb"):
        run(["dpkg-deb", "-x", str(package), str(unpacked)])
    # /lib/modules or /usr/lib/modules, depending on the suite; in a merged tree both are one directory.
    (modules,) = (*unpacked.glob("lib/modules/*"), *unpacked.glob("usr/lib/modules/*"))
    (image,) = (*unpacked.glob("boot/vmlinuz-*"), *modules.glob("vmlinuz"))
    shutil.copyfile(image, kernel)
    (config,) = (*unpacked.glob("boot/config-*"), *modules.glob("config"))
    shutil.copyfile(config, tree / "boot" / f"config-{modules.name}")
    shutil.copytree(modules, tree / "usr/lib/modules" / modules.name, symlinks=True)
    run(["chroot", str(tree), "depmod", modules.name])
    if any(modules.glob("kernel/drivers/nvme/host/nvme.ko*")):
        _write_initrd(tree, tree / "usr/lib/modules" / modules.name, packages / "initrd", kernel)


def _write_initrd(tree: Path, modules: Path, content: Path, kernel: Path) -> None:
    for directory in ("bin", "dev", "modules", "root"):
        (content / directory).mkdir(parents=True)
    shutil.copy(tree / "usr/bin/busybox", content / "bin/busybox")
    (content / "init").write_text(ROOT_INIT)
    (content / "init").chmod(0o755)
    wanted: list[str] = []
    for line in (modules / "modules.dep").read_text().splitlines():
        name, needed = line.split(":")
        if Path(name).name.partition(".")[0].replace("-", "_") in ROOT_MODULES:
            wanted += [*reversed(needed.split()), name]
    for number, name in enumerate(dict.fromkeys(wanted)):
        shutil.copyfile(modules / name, content / f"modules/{number:02}.ko.xz")
    run(["sh", "-c", f"cd '{content}' && xz -d modules/* && find . | cpio --quiet -o -H newc >'{kernel}.initrd'"])


def _configure(tree: Path) -> None:
    units = tree / "etc/systemd/system"
    for unit in MASKED_UNITS:
        (units / unit).unlink(missing_ok=True)
        (units / unit).symlink_to("/dev/null")
    generators = tree / "etc/systemd/system-generators"
    generators.mkdir(exist_ok=True)
    for generator in (tree / "usr/lib/systemd/system-generators").iterdir():
        if generator.name not in KEPT_GENERATORS:
            (generators / generator.name).symlink_to("/dev/null")
    there = [unit for unit in DISABLED_UNITS if (tree / "lib/systemd/system" / unit).exists()]
    if there:
        run(["chroot", str(tree), "systemctl", "--quiet", "disable", *there])
    # The cluster that the package created is started by the scenarios that need it.
    for start in tree.glob("etc/postgresql/*/main/start.conf"):
        start.write_text("manual\n")
    blacklist = "".join(f"blacklist {module}\n" for module in BLACKLISTED_MODULES)
    (tree / "etc/modprobe.d/hugeplan-vm.conf").write_text(blacklist)
    (tree / "etc/apt/apt.conf.d/99mmdebstrap").unlink(missing_ok=True)
    (tree / "etc/fstab").write_text(f"{ROOT_DEVICE} / ext4 defaults 0 0\n")
    (tree / "etc/hostname").write_text("hugeplan-vm\n")
    (tree / "etc/hosts").write_text("127.0.0.1 localhost hugeplan-vm\n")
    (tree / "etc/resolv.conf").unlink(missing_ok=True)
    # Without it, systemd handles each boot as the first one.
    (tree / "etc/machine-id").write_text(hashlib.md5(b"hugeplan-vm").hexdigest() + "\n")
    init = tree / "usr/sbin/hugeplan-vm-init"
    shutil.copyfile(HERE / "init.sh", init)
    init.chmod(0o755)
    for stamp in ("etc/.updated", "var/.updated"):
        (tree / stamp).touch()


def _write_disk(tree: Path, disk: Path) -> None:
    used = int(run(["du", "-s", "-B1", str(tree)]).split()[0])
    sectors = (used + FREE_SPACE) // (1 << 20) * (1 << 20) // SECTOR
    with disk.open("wb") as file:
        file.write(_partition_table(sectors))
        file.truncate(PARTITION_START + sectors * SECTOR)
    options = f"offset={PARTITION_START},lazy_itable_init=1,lazy_journal_init=1,nodiscard"
    size = f"{sectors * SECTOR // 1024}k"
    run(["mke2fs", "-q", "-F", "-t", "ext4", "-E", options, "-d", str(tree), str(disk), size])


def _partition_table(sectors: int) -> bytes:
    """An MBR with one Linux partition, which the kernel finds by its signature (root=PARTUUID=)."""
    linux, no_chs = 0x83, b"\0\0\0"
    entry = struct.pack("<B3sB3sII", 0, no_chs, linux, no_chs, PARTITION_START // SECTOR, sectors)
    table = bytearray(SECTOR)
    table[440:444] = struct.pack("<I", DISK_SIGNATURE)
    table[446 : 446 + len(entry)] = entry
    table[510:512] = b"\x55\xaa"
    return bytes(table)


if __name__ == "__main__":
    for named in sys.argv[1:]:
        cached_image(named)
