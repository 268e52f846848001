#!/usr/bin/env python3
"""Private ZooKeeper and MariaDB in a temporary folder on free ports, for tests; ended when the `with` block or the command ends.

    servers.py -- COMMAND…     runs the command with CARILLON_TEST_ZOOKEEPER, CARILLON_TEST_MYSQL_URL, CARILLON_TEST_MYSQL_PASSWORD set
"""
import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_port(port, process, what, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"{what} ended at once with {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
            return
        time.sleep(0.1)
    raise RuntimeError(f"{what} does not listen on port {port}")


def end(process, seconds=20):
    if process and process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class MariaDB:
    """A private server; user carillon with a random password may do all on databases named carillon…"""

    def __init__(self, folder, port=None):
        self.folder, self.port = folder, port or free_port()
        self.password = secrets.token_hex(12)
        self.process = None
        self.data = os.path.join(folder, "mariadb")
        self.socket = os.path.join(folder, "mariadb.sock")
        os.makedirs(self.data)
        self.user = ["--user=root"] if os.getuid() == 0 else []
        install = ["mariadb-install-db", "--no-defaults", f"--datadir={self.data}", "--auth-root-authentication-method=normal",
                   "--skip-test-db", *self.user]
        for attempt in range(3):
            result = subprocess.run(install, check=False, capture_output=True, text=True, env=dict(os.environ, TMPDIR=folder))
            if result.returncode == 0:
                break
            print(f"mariadb-install-db failed ({attempt + 1}): {result.stdout[-2000:]}{result.stderr[-2000:]}", file=sys.stderr)
            shutil.rmtree(self.data, ignore_errors=True)
            os.makedirs(self.data)
        else:
            raise RuntimeError("mariadb-install-db does not succeed")
        self.start()
        self.sql(f"CREATE USER 'carillon'@'%' IDENTIFIED BY '{self.password}'; GRANT ALL ON `carillon%`.* TO 'carillon'@'%'; "
                 "GRANT PROCESS, CONNECTION ADMIN ON *.* TO 'carillon'@'%'")

    def start(self):
        # For tests of what is right, not of how fast it is: what is written goes to the kernel and is not waited for until
        # it is on the disk. A kill -9 of the server loses nothing by that, only a machine without power would.
        fast = os.environ.get("CARILLON_TEST_MYSQL_FAST") == "1"
        sync = ["--innodb-flush-method=nosync", "--innodb-flush-log-at-trx-commit=2"] if fast else []
        server = shutil.which("mariadbd") or "/usr/sbin/mariadbd"
        with open(os.path.join(self.folder, "mariadb.log"), "ab") as log:
            self.process = subprocess.Popen(
                [server, "--no-defaults", f"--datadir={self.data}", f"--socket={self.socket}", f"--port={self.port}",
                 "--bind-address=127.0.0.1", f"--pid-file={self.folder}/mariadb.pid", "--innodb-buffer-pool-size=256M",
                 "--innodb-log-file-size=128M", "--max-connections=300", "--skip-name-resolve", *sync, *self.user], stdout=log, stderr=log)
        wait_port(self.port, self.process, "MariaDB")

    def sql(self, text):
        return subprocess.run(["mariadb", "--no-defaults", f"--socket={self.socket}", "-uroot", "-N", "-e", text], check=True,
                              capture_output=True, text=True).stdout

    def database(self, name):
        self.sql(f"DROP DATABASE IF EXISTS `{name}`; CREATE DATABASE `{name}` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
        return f"mysql://carillon@127.0.0.1:{self.port}/{name}"

    def stop(self):
        end(self.process)


class ZooKeeper:
    """A private server: alone, or one member of an ensemble (which an Ensemble makes)."""

    def __init__(self, folder, port=None, extra="minSessionTimeout=1000\n", tick=500):
        self.folder, self.port = folder, port or free_port()
        self.process = None
        self.config = os.path.join(folder, "zoo.cfg")
        self.data = os.path.join(folder, "zookeeper")
        os.makedirs(self.data)
        with open(self.config, "w", encoding="utf-8") as f:
            f.write(f"tickTime={tick}\ndataDir={self.data}\nclientPort={self.port}\nclientPortAddress=127.0.0.1\n"
                    "admin.enableServer=false\nmaxSessionTimeout=60000\nmaxClientCnxns=0\n"
                    f"4lw.commands.whitelist=ruok,srvr,mntr,wchs\n{extra}")

    @staticmethod
    def classpath():
        jars = ["/usr/share/java/zookeeper.jar", "/etc/zookeeper/conf"]
        for name in ("netty-handler", "netty-common", "netty-buffer", "netty-transport", "netty-codec", "netty-resolver",
                     "netty-transport-native-epoll", "netty-transport-native-unix-common", "slf4j-api", "slf4j-log4j12", "slf4j-simple", "log4j-1.2",
                     "reload4j", "zookeeper-jute", "commons-cli", "audience-annotations", "metrics-core", "snappy-java", "jackson-databind",
                     "jackson-core", "jackson-annotations", "javax.servlet-api", "jetty9-server", "netty"):
            jars += [f"/usr/share/java/{name}.jar"]
        return ":".join(j for j in jars if os.path.exists(j))

    def launch(self):
        with open(os.path.join(self.folder, "zookeeper.log"), "ab") as log:
            self.process = subprocess.Popen(
                ["java", "-Xmx256m", "-cp", self.classpath(), "org.apache.zookeeper.server.quorum.QuorumPeerMain", self.config],
                stdout=log, stderr=log)

    def start(self):
        self.launch()
        wait_port(self.port, self.process, "ZooKeeper")

    def ask(self, word):
        """The answer to one of ZooKeeper's four-letter words; "" while it does not answer."""
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 2) as s:
            s.sendall(word.encode())
            return b"".join(iter(lambda: s.recv(65536), b"")).decode()
        return ""

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        end(self.process)


class Ensemble:
    """Three private servers that are one service."""

    def __init__(self, folder, count=3, tick=2000):
        quorum = [(free_port(), free_port()) for _ in range(count)]
        peers = "initLimit=10\nsyncLimit=5\n" + "".join(f"server.{i + 1}=127.0.0.1:{a}:{b}\n" for i, (a, b) in enumerate(quorum))
        self.members = []
        for i in range(count):
            home = os.path.join(folder, f"zk{i + 1}")
            os.makedirs(home)
            member = ZooKeeper(home, extra=peers if count > 1 else "", tick=tick)
            with open(os.path.join(member.data, "myid"), "w", encoding="ascii") as f:
                f.write(str(i + 1))
            self.members.append(member)

    def start(self):
        for member in self.members:
            member.launch()
        self.wait()

    def wait(self, seconds=60):
        """Until every member that runs serves clients."""
        until = time.monotonic() + seconds
        while not all("Mode:" in m.ask("srvr") for m in self.members if m.process.poll() is None):
            if time.monotonic() > until:
                raise RuntimeError("the ensemble does not serve")
            time.sleep(0.1)

    def leader(self):
        for member in self.members:
            if any(mode in member.ask("srvr") for mode in ("Mode: leader", "Mode: standalone")):
                return member
        return None

    def stop(self):
        for member in self.members:
            member.stop()


def quick_folder():
    """Memory, where a test may be fast and there is plenty: a hundred partitions are a hundred files, and making them is
    what such tests wait for on a busy disk. None: the usual place."""
    memory = "/dev/shm"
    if os.environ.get("CARILLON_TEST_MYSQL_FAST") != "1" or not os.access(memory, os.W_OK):
        return None
    room = os.statvfs(memory)
    return memory if room.f_bavail * room.f_frsize > 4 << 30 else None


@contextlib.contextmanager
def servers(zookeeper=True, mariadb=True):
    folder = tempfile.mkdtemp(prefix="carillon-servers-", dir=quick_folder())
    started = []
    try:
        db = zk = None
        if mariadb:
            db = MariaDB(folder)
            started.append(db)
        if zookeeper:
            zk = ZooKeeper(folder)
            started.append(zk)
            zk.start()
        yield db, zk
    finally:
        for server in reversed(started):
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    if len(sys.argv) < 3 or sys.argv[1] != "--":
        sys.exit(__doc__)
    os.environ.setdefault("CARILLON_TEST_MYSQL_FAST", "1")
    with servers() as (db, zk):
        env = dict(os.environ, CARILLON_TEST_ZOOKEEPER=f"127.0.0.1:{zk.port}", CARILLON_TEST_MYSQL_URL=db.database("carillon_test"),
                   CARILLON_TEST_MYSQL_PASSWORD=db.password)
        sys.exit(subprocess.run(sys.argv[2:], env=env, check=False).returncode)


if __name__ == "__main__":
    main()
