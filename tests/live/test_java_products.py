#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""`hugeplanctl import` for Kafka, Cassandra and Tomcat, compared with the servers on real huge pages of 2M.

usage: HUGEPLAN_LIVE=1 test_java_products.py HUGEPLANCTL [CACHE]

Their classes (140 MiB) come from Maven Central, into the cache of tests/sizes/measure.py, so `meson test` does not run
this. Tomcat's archive has its own scripts. Those of Kafka and Cassandra are not in Maven Central; scripts with the same
variables, files and order are written here. Each server listens on the loopback interface only. `hugeplanctl import`
finds it by its unit, and by its process if the unit does not name Java, with the same size. With so many pages all of
its memory is in huge pages, and at most a few pages are left. With exactly the pages that the server took, the same is
true; with one page fewer it falls back. Needs what test_live.py needs, and Java 17 or later; skips (77).
"""

from __future__ import annotations

import contextlib
import functools
import json
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

# Said before the imports: no __pycache__ in the source tree.
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "sizes"))

import test_java  # noqa: E402
import test_live  # noqa: E402
from servers import JAVA_PRODUCTS, Server, unpacked  # noqa: E402
from shared import captured_root, no_surplus, pools_locked, reserved, unit_group, wait_until  # noqa: E402
from test_java import FALLS_BACK  # noqa: E402
from test_live import check_size, set_pool  # noqa: E402

from common import SKIP, check, passes  # noqa: E402

CACHE = pathlib.Path("/var/tmp/hugeplan-sizes")
USER, GROUP = "nobody", "nogroup"
PATIENCE = 240.0
OLDEST_JAVA = 17


def java_home() -> pathlib.Path:
    return pathlib.Path(shutil.which("java") or "").resolve().parent.parent


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def answers(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


class Product:
    """A server that is installed below a captured root."""

    TITLE: str
    START: str
    ENVIRONMENT: dict[str, str] = {}
    JAVA: tuple[int, ...] = ()  # empty: any

    def __init__(self, server: Server, classes: pathlib.Path, root: pathlib.Path) -> None:
        self.name = f"{server.engine} {server.version}"
        self.unit = f"{server.engine}.service"
        self.root = root
        self.log = root / "log"
        self.home = root / "opt" / server.engine
        self.classes = classes
        self.port = free_port()
        self._environment = {"JAVA_HOME": str(java_home()), **self.ENVIRONMENT}
        self.lay()
        self.own()
        self.lay_unit(self.START)

    def lay(self) -> None:
        raise NotImplementedError

    def write(self, name: str, text: str, mode: int = 0o644) -> None:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    def own(self) -> None:
        for path in (self.home, *self.home.rglob("*")):
            shutil.chown(path, USER, GROUP)

    def lay_unit(self, start: str) -> None:
        lines = [f'Environment="{name}={value}"' for name, value in self._environment.items()]
        path = self.root / "etc/systemd/system" / self.unit
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(["[Service]", f"User={USER}", *lines, f"ExecStart={start}", ""]))

    # ---- started as by systemd ----

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        enter = ["/bin/sh", "-c", 'echo $$ >"$0/cgroup.procs"; exec setpriv "$@"']
        owner = [f"--reuid={USER}", f"--regid={GROUP}", "--clear-groups"]
        program, *arguments = self.START.split()
        with unit_group(self.unit) as group, self.log.open("wb") as log, subprocess.Popen(
                [*enter, group, *owner, f"{self.root}{program}", *arguments], stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, cwd=self.home, env={"PATH": "/usr/bin:/bin", **self._environment}) as process:
            try:
                wait_until(f"{self.TITLE} has started",
                           lambda: process.poll() is not None or answers(self.port), PATIENCE)
                check(process.poll() is None, f"{self.TITLE} does not start: {self.log.read_text()[-2000:]}")
                yield
            finally:
                process.send_signal(signal.SIGKILL)
                process.wait(PATIENCE)
        wait_until("the pages are given back", lambda: reserved() == 0, PATIENCE)

    def taken(self) -> int:
        with self.running():
            check(FALLS_BACK not in self.log.read_text(), f"the server falls back: {self.log.read_text()[:2000]}")
            return reserved()


class Kafka(Product):
    TITLE = "Kafka"
    START = "/opt/kafka/bin/kafka-server-start.sh config/server.properties"
    ENVIRONMENT = {"KAFKA_OPTS": "-XX:+UseLargePages"}

    def lay(self) -> None:
        controller = free_port()
        (self.home / "data").mkdir(parents=True)
        (self.home / "libs").symlink_to(self.classes)
        self.write("config/server.properties", f"""\
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:{controller}
log.dirs={self.home}/data
offsets.topic.replication.factor=1
""")
        self.write("bin/kafka-server-start.sh", """\
#!/bin/sh
base_dir=$(dirname $0)
if [ "x$KAFKA_HEAP_OPTS" = "x" ]; then
    export KAFKA_HEAP_OPTS="-Xmx300M -Xms300M"
fi
exec $base_dir/kafka-run-class.sh -name kafkaServer kafka.Kafka "$@"
""", 0o755)
        self.write("bin/kafka-run-class.sh", """\
#!/bin/sh
base_dir=$(dirname $0)/..
if [ -z "$JAVA_HOME" ]; then
  JAVA="java"
else
  JAVA="$JAVA_HOME/bin/java"
fi
if [ -z "$KAFKA_HEAP_OPTS" ]; then
  KAFKA_HEAP_OPTS="-Xmx256M"
fi
if [ -z "$KAFKA_JVM_PERFORMANCE_OPTS" ]; then
  KAFKA_JVM_PERFORMANCE_OPTS="-server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -Djava.awt.headless=true"
fi
while [ $# -gt 0 ]; do
  case $1 in
    -name)
      shift 2
      ;;
    *)
      break
      ;;
  esac
done
exec "$JAVA" $KAFKA_HEAP_OPTS $KAFKA_JVM_PERFORMANCE_OPTS -cp "$base_dir/libs/*" $KAFKA_OPTS "$@"
""", 0o755)
        done = subprocess.run([java_home() / "bin/java", "-cp", f"{self.home}/libs/*", "kafka.tools.StorageTool", "format",
                               "--cluster-id=AAAAAAAAAAAAAAAAAAAAAQ", f"--config={self.home}/config/server.properties"],
                              text=True, capture_output=True, timeout=PATIENCE)
        check(done.returncode == 0, done.stdout + done.stderr)


class Cassandra(Product):
    TITLE = "Cassandra"
    START = "/opt/cassandra/bin/cassandra -f"
    JAVA = (17,)

    def lay(self) -> None:
        storage, jmx = free_port(), free_port()
        (self.home / "data").mkdir(parents=True)
        (self.home / "lib").symlink_to(self.classes)
        self.write("conf/cassandra.yaml", f"""\
cluster_name: test
num_tokens: 1
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
commitlog_sync: periodic
commitlog_sync_period: 10000ms
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters:
      - seeds: "127.0.0.1:{storage}"
endpoint_snitch: SimpleSnitch
listen_address: 127.0.0.1
rpc_address: 127.0.0.1
storage_port: {storage}
native_transport_port: {self.port}
start_native_transport: true
""")
        self.write("conf/logback.xml", """\
<configuration><appender name="out" class="ch.qos.logback.core.ConsoleAppender"><encoder><pattern>%msg%n</pattern>
</encoder></appender><root level="WARN"><appender-ref ref="out"/></root></configuration>
""")
        self.write("conf/jvm-server.options", "-ea\n-Xss256k\n-XX:+AlwaysPreTouch\n-XX:+UseNUMA\n-XX:+UseLargePages\n#-Xmx4G\n")
        self.write("conf/jvm17-server.options", "-XX:+UseG1GC\n-XX:G1HeapRegionSize=16m\n-XX:MaxGCPauseMillis=300\n"
                   "-Djdk.attach.allowAttachSelf=true\n" + "".join(f"--add-exports {name}=ALL-UNNAMED\n" for name in (
                       "java.base/jdk.internal.misc", "java.base/java.lang.ref", "java.sql/java.sql",
                       "java.management.rmi/com.sun.jmx.remote.internal.rmi", "java.rmi/sun.rmi.registry",
                       "java.rmi/sun.rmi.server", "jdk.unsupported/sun.misc"))
                   + "".join(f"--add-opens {name}=ALL-UNNAMED\n" for name in (
                       "java.base/java.io", "java.base/java.lang", "java.base/java.lang.module",
                       "java.base/java.lang.reflect", "java.base/java.nio", "java.base/java.util",
                       "java.base/jdk.internal.loader", "java.base/jdk.internal.ref", "java.base/jdk.internal.reflect",
                       "java.base/jdk.internal.math", "java.base/jdk.internal.module",
                       "java.base/jdk.internal.util.jar", "java.base/sun.nio.ch",
                       "jdk.management/com.sun.management.internal")))
        self.write("conf/cassandra-env.sh", f"""\
calculate_heap_sizes()
{{
    MAX_HEAP_SIZE="${{max_heap_size_in_mb}}M"
}}
MAX_HEAP_SIZE="512M"
echo $JVM_OPTS | grep -q Xmx
DEFINED_XMX=$?
if [ "x$MAX_HEAP_SIZE" = "x" ] && [ "x$HEAP_NEWSIZE" = "x" ]; then
    calculate_heap_sizes
fi
if [ $DEFINED_XMX -ne 0 ]; then
     JVM_OPTS="$JVM_OPTS -Xms${{MAX_HEAP_SIZE}}"
     JVM_OPTS="$JVM_OPTS -Xmx${{MAX_HEAP_SIZE}}"
fi
JVM_OPTS="$JVM_OPTS -javaagent:$CASSANDRA_HOME/lib/{next(self.classes.glob('jamm-*.jar')).name}"
JVM_OPTS="$JVM_OPTS -Dcassandra.jmx.local.port={jmx}"
JVM_OPTS="$JVM_OPTS $JVM_EXTRA_OPTS"
""")
        self.write("bin/cassandra.in.sh", """\
if [ "x$CASSANDRA_HOME" = "x" ]; then
    CASSANDRA_HOME="`dirname "$0"`/.."
fi
if [ "x$CASSANDRA_CONF" = "x" ]; then
    CASSANDRA_CONF="$CASSANDRA_HOME/conf"
fi
cassandra_storagedir="$CASSANDRA_HOME/data"
for opt in `grep -h "^-" $CASSANDRA_CONF/jvm-server.options $CASSANDRA_CONF/jvm17-server.options`
do
  JVM_OPTS="$JVM_OPTS $opt"
done
""")
        self.write("bin/cassandra", """\
#!/bin/sh
if [ "x$CASSANDRA_INCLUDE" = "x" ]; then
    for include in "`dirname "$0"`/cassandra.in.sh" /usr/share/cassandra/cassandra.in.sh; do
        if [ -r "$include" ]; then
            . "$include"
            break
        fi
    done
elif [ -r "$CASSANDRA_INCLUDE" ]; then
    . "$CASSANDRA_INCLUDE"
fi
if [ -n "$JAVA_HOME" ]; then
    JAVA="$JAVA_HOME/bin/java"
else
    JAVA=java
fi
if [ -f "$CASSANDRA_CONF/cassandra-env.sh" ]; then
    . "$CASSANDRA_CONF/cassandra-env.sh"
fi
exec "$JAVA" $JVM_OPTS -Dcassandra.storagedir=$cassandra_storagedir -Dcassandra-foreground=yes \\
    -Dcassandra.config=file://$CASSANDRA_CONF/cassandra.yaml \\
    -cp "$CASSANDRA_CONF:$CASSANDRA_HOME/lib/*" org.apache.cassandra.service.CassandraDaemon
""", 0o755)


class Tomcat(Product):
    TITLE = "Tomcat"
    START = "/opt/tomcat/bin/catalina.sh run"

    def lay(self) -> None:
        shutil.copytree(self.classes, self.home, ignore=lambda _directory, names: [each for each in names if each in (
            "docs", "examples", "manager", "host-manager")])
        server = self.home / "conf/server.xml"
        server.write_text(server.read_text().replace('<Server port="8005"', '<Server port="-1"').replace(
            '<Connector port="8080"', f'<Connector address="127.0.0.1" port="{self.port}"'))
        self.write("bin/setenv.sh", """\
HEAP=200m
CATALINA_OPTS="$CATALINA_OPTS -Xms$HEAP -Xmx${HEAP}"
CATALINA_OPTS="$CATALINA_OPTS -XX:+UseParallelGC -XX:+UseLargePages"
""", 0o755)


PRODUCTS: dict[str, type[Product]] = {"kafka": Kafka, "cassandra": Cassandra, "tomcat": Tomcat}


def suggestion(hugeplanctl: str, product: Product) -> dict:
    done = subprocess.run([hugeplanctl, f"--root={product.root}", "--json=short", "import"], text=True,
                          capture_output=True, timeout=PATIENCE)
    check(done.returncode == 0, done.stderr)
    found = next((one for one in json.loads(done.stdout)["databases"] if one["unit"] == product.unit), None)
    check(found is not None and found["path"], f"{product.unit} is not proposed: {done.stdout}")
    return found


def check_product(hugeplanctl: str, product: Product) -> str:
    found = suggestion(hugeplanctl, product)
    said = found["pages"]
    check(found["title"] == product.TITLE, f"{product.TITLE} is proposed as {found['title']}")
    set_pool(said)
    with product.running():
        check(suggestion(hugeplanctl, product)["pages"] == said, "the running server is proposed with another size")
        product.lay_unit("/opt/own/start")
        by_process = suggestion(hugeplanctl, product)
        check("process" in by_process["found"] and by_process["pages"] == said, f"found by its process: {by_process}")
        product.lay_unit(product.START)
    pages = check_size(said, product.taken, 1.02)
    with product.running():
        check(FALLS_BACK in product.log.read_text(), f"the server does not fall back with {pages - 1} pages")
    return f"{pages} pages, the size is {said}"


def run_product(hugeplanctl: str, server: Server, classes: pathlib.Path) -> bool:
    kind = PRODUCTS[server.engine]
    with captured_root() as root:
        # hugeplanctl reads the version of this host's Java from here.
        release = root / java_home().relative_to("/") / "release"
        release.parent.mkdir(parents=True)
        shutil.copy(java_home() / "release", release)
        product = kind(server, classes, root)
        return passes(product.name, functools.partial(check_product, hugeplanctl, product))


def java_major() -> int:
    return int((test_java.version() or "0").split(".")[0])


def main() -> int:
    hugeplanctl = str(pathlib.Path(sys.argv[1]).resolve())
    cache = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else CACHE
    reason = test_live.why_not() or test_java.why_not()
    if not reason and java_major() < OLDEST_JAVA:
        reason = f"there is no Java {OLDEST_JAVA} or later"
    if reason:
        print(f"skipped: {reason}")
        return SKIP
    n_failed = n_skipped = 0
    for server in JAVA_PRODUCTS:
        try:
            classes = unpacked(server, cache)
        except SystemExit as error:
            print(f"skip {server.engine} {server.version}: it cannot be fetched: {error}")
            n_skipped += 1
            continue
        if java_major() not in (PRODUCTS[server.engine].JAVA or (java_major(),)):
            print(f"skip {server.engine} {server.version}: it does not run with Java {test_java.version()}")
            n_skipped += 1
            continue
        with pools_locked(), test_live.host_as_it_was(), no_surplus():
            n_failed += not run_product(hugeplanctl, server, classes)
    print(f"Java {test_java.version()}: {len(JAVA_PRODUCTS)} products, {n_failed} failed, {n_skipped} skipped")
    return 1 if n_failed else SKIP if n_skipped == len(JAVA_PRODUCTS) else 0


if __name__ == "__main__":
    sys.exit(main())
