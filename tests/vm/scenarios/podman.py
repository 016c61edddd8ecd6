# SPDX-License-Identifier: LGPL-2.1-or-later
"""Containers of podman on a host with huge pages: what a hugetlb limit does to initdb, what cures it, and a PostgreSQL
of quadlet's that waits for its pages, has them, and no more. hugeplan(7), CONTAINERS."""

import re
import subprocess
from pathlib import Path

from databases import charged, drop_in
from guestlib import *
from memory import configure, reload
from scenario import Boot, Node, Scenario

ROOT = Path("/srv/container")  # what an image would bring: the guest's own Debian
DATA = Path("/srv/data")
BIN = "/usr/lib/postgresql/17/bin"
UNIT = "orders.service"
SHARED_BUFFERS = 128  # MiB
SPARE = 40  # pages that the pool has beside the instance's
NO_PAGES = "--cgroup-conf=hugetlb.2MB.max=0"
NONE_PROMISED = "--cgroup-conf=hugetlb.2MB.rsvd.max=0"
QUADLET = f"""[Container]
Rootfs={ROOT}
Volume=/usr:/usr:ro
Volume={DATA}:/data
Network=none
User=postgres
Exec={BIN}/postgres -D /data/orders -c huge_pages=on -c shared_buffers={SHARED_BUFFERS}MB -c unix_socket_directories=/data
[Service]
LimitMEMLOCK=infinity
"""


def containers() -> None:
    make_root()
    configure("30-orders", f"[Instance]\nEngine=postgresql\nMemory={SHARED_BUFFERS}M\nUnit={UNIT}\n")
    configure("40-spare", f"[Instance]\nEngine=generic\nPages={SPARE}\nUnit=nobody.service\n")
    reload()
    note(output("podman --version; crun --version | head -1"))
    killed_and_cured()
    a_quadlet_has_its_pages()


def make_root() -> None:
    for name in ("proc", "sys", "dev", "run", "tmp", "data", "usr", "var"):
        (ROOT / name).mkdir(parents=True, exist_ok=True)
    for name in ("bin", "lib", "lib64", "sbin"):
        (ROOT / name).symlink_to(f"usr/{name}")
    output(f"cp -a /etc {ROOT}/etc && chmod 1777 {ROOT}/tmp && install -d -o postgres -g postgres {DATA}")
    Path("/etc/containers/storage.conf").write_text('[storage]\ndriver = "vfs"\n'
                                                    'runroot = "/run/containers/storage"\n'
                                                    'graphroot = "/var/lib/containers/storage"\n')


def initdb(directory: str, limits: str, *options: str) -> subprocess.CompletedProcess[str]:
    # Nobody's disk is at stake, and nobody waits for these.
    return sh(f"podman run --rm --network=none --user=postgres --volume=/usr:/usr:ro --volume={DATA}:/data {limits} "
              f"--rootfs {ROOT} {BIN}/initdb --no-sync --no-locale -D /data/{directory} {' '.join(options)}", 240)


def killed_and_cured() -> None:
    done = initdb("killed", NO_PAGES)
    check(done.returncode != 0 and "Bus error" in done.stdout + done.stderr,
          "promised and then refused: initdb is killed by SIGBUS", said(done))
    done = initdb("bounded", f"{NO_PAGES} {NONE_PROMISED}")
    check_equal(done.returncode, 0, "with no promise, either, it takes small pages")
    done = initdb("orders", NO_PAGES, "--set huge_pages=off")
    check_equal(done.returncode, 0, "and with huge_pages=off, whatever the limits are")
    check("huge_pages = off" in (DATA / "orders/postgresql.conf").read_text(), "which is what the cluster has from then on")
    held = sh(f"podman run --detach --name=held --network=none --volume=/usr:/usr:ro {NO_PAGES} --rootfs {ROOT} sleep 300")
    found = sh("hugeplanctl check")
    check("hugetlb-sigbus" in found.stdout, "check finds such a group", said(held) + said(found))
    sh("podman rm --force --time=0 held")


def a_quadlet_has_its_pages() -> None:
    Path("/etc/systemd/system-generators/podman-system-generator").unlink()
    Path("/etc/containers/systemd").mkdir(parents=True, exist_ok=True)
    Path("/etc/containers/systemd/orders.container").write_text(QUADLET)
    output("systemctl daemon-reload")
    check("hugeplanctl wait orders" in drop_in(UNIT), "the unit of the container has its gate", drop_in(UNIT))
    systemctl(f"start {UNIT}", "the container is started")
    answer = f"runuser -u postgres -- psql -XAtqc 'SHOW huge_pages_status' -h {DATA} postgres"
    wait_for(lambda: sh(answer).returncode == 0, 120)
    check_equal(sh(answer).stdout.strip(), "on", "its server answers, and has huge pages")
    granted = instance("orders")["pagesGranted"]
    group = Path("/sys/fs/cgroup" + unit(UNIT, "ControlGroup"))
    bound = int((group / "hugetlb.2MB.rsvd.max").read_text()) // DEFAULT_PAGE_BYTES
    check_equal(bound, granted, "the unit has a hugetlb limit, of what it was granted")
    use = charged(UNIT)
    mapped = sum(use.used.values()) + use.promised
    check(SHARED_BUFFERS * MIB <= mapped * DEFAULT_PAGE_BYTES <= granted * DEFAULT_PAGE_BYTES,
          "what is mapped inside is counted for the unit", (use, granted))
    found = hugeplan("verify orders")
    check_equal((found["outcome"], found["mappedBytes"]), ("in-use", mapped * DEFAULT_PAGE_BYTES), "verify sees it")
    inner = [one.parent for one in group.rglob("hugetlb.2MB.max") if one.parent != group]
    note(f"groups below, and their limits: {[(one.name, (one / 'hugetlb.2MB.max').read_text().strip()) for one in inner]}")
    systemctl(f"stop {UNIT}")
    configure("30-orders", f"[Instance]\nEngine=postgresql\nMemory=64G\nUnit={UNIT}\n")
    sh("hugeplanctl reload --force")
    done = sh(f"systemctl start {UNIT}", 120)
    check(done.returncode != 0 and told(UNIT, "orders"), "what cannot have its pages is not started", said(done))
    check(not re.search(r"\borders\b", sh("podman ps --format='{{.Names}}'").stdout), "and no container runs")


SCENARIO = Scenario(
    suites=(),
    more_suites=("trixie",),
    nodes=(Node("2G"),),
    boots=(Boot(containers, limit_sec=900),),
)
