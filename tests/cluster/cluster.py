"""A whole cluster to break: real MariaDB, a ZooKeeper or an ensemble, schedulers and orchestrators, a recording executor, and between
each scheduler and what it talks to a link of bench_proxy that can be cut.

Each scheduler lives in a network namespace of its own where the machine allows that (root), so that even its way to the executor can be
cut alone; otherwise all schedulers share one link to the executor."""
import contextlib
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import requests

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../system"), os.path.join(HERE, "../lib")]

from harness import BINARY, Api, free_port, until  # noqa: E402
from servers import Ensemble, MariaDB, end  # noqa: E402

FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"


class Namespace:
    """A network namespace that lives as long as a process in it; None of it where that is not allowed."""

    def __init__(self):
        self.process = subprocess.Popen(["unshare", "-n", "sh", "-c", "ip link set lo up && echo up && exec sleep 1000000"],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.good = self.process.stdout.readline() == "up\n"
        self.path = f"/proc/{self.process.pid}/ns/net"

    def close(self):
        self.process.kill()
        self.process.wait()


class Links:
    """bench_proxy, and its commands."""

    def __init__(self, specs):
        self.process = subprocess.Popen([os.path.join(os.path.dirname(BINARY), "bench_proxy"), *specs], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, bufsize=1)
        self.answers, self.events, self.lock = queue.Queue(), queue.Queue(), threading.Lock()
        assert self.process.stdout.readline() == "ready\n", "bench_proxy does not start"
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            (self.events if line.startswith("event") else self.answers).put(line.strip())

    def __call__(self, command):
        with self.lock:
            self.process.stdin.write(command + "\n")
            answer = self.answers.get(timeout=10)
        assert answer == "ok", f"{command}: {answer}"

    def caught(self, seconds):
        """The next "event LINK WHERE", or None."""
        with contextlib.suppress(queue.Empty):
            return self.events.get(timeout=seconds)
        return None

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)


class Server:
    """A process with its log in a file; may be killed, stopped, continued, started again."""

    def __init__(self, name, command, log, env=None, url=None):
        self.name, self.command, self.log_path, self.env, self.url = name, command, log, env, url
        self.process = None

    def launch(self):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.command, env=self.env, stdout=log, stderr=log)
        return self

    def answers(self, path):
        with contextlib.suppress(requests.RequestException):
            return requests.get(self.url + path, timeout=2).status_code == 200
        return False

    def start(self, path="/healthz", seconds=40):
        self.launch()

        def up():
            assert self.process.poll() is None, f"{self.name} ended with {self.process.returncode}:\n{self.log()[-3000:]}"
            return self.answers(path)

        until(up, seconds, f"{self.name} to answer {path}")
        return self

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    @property
    def alive(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        if self.alive:
            self.process.kill()
            self.process.wait()

    def signal(self, number):
        if self.alive:
            self.process.send_signal(number)

    def stop(self, seconds=60):
        end(self.process, seconds)
        return self.process.returncode


class Cluster:
    """Everything; ended by close(). `members`: ZooKeeper servers. Folder and logs are kept when CARILLON_KEEP is set."""

    def __init__(self, schedulers=3, orchestrators=1, members=3, session=6, tick=2000, clocks=False, settings=(), grants=None):
        self.folder = tempfile.mkdtemp(prefix="carillon-cluster-")
        self.session, self.tick = session, tick / 1000
        self.things = contextlib.ExitStack()
        self.things.callback(lambda: os.environ.get("CARILLON_KEEP") or shutil.rmtree(self.folder, ignore_errors=True))
        self.settings, self.clocks = settings, clocks and os.path.exists(FAKETIME)
        try:
            self._services(members, tick, grants)
            self._network([f"s{i + 1}" for i in range(schedulers)])
            self._processes(orchestrators)
        except BaseException:
            self.close()
            raise

    # ---- making -------------------------------------------------------------------------------------------------------------------

    def _services(self, members, tick, grants):
        self.db = MariaDB(self.folder)
        self.things.callback(self.db.stop)
        self.store = self.db.database("carillon_chaos")
        self.user = "carillon"
        if grants:
            self.user = "least"
            self.db.sql(f"CREATE USER least@'%' IDENTIFIED BY '{self.db.password}'; {grants}")
        self.zk = Ensemble(self.folder, members, tick)
        self.things.callback(self.zk.stop)
        self.zk.start()
        self.sink_port, self.sink_log = free_port(), os.path.join(self.folder, "executor.log")
        self.sink = Server("executor", [os.path.join(os.path.dirname(BINARY), "bench_sink"), str(self.sink_port), self.sink_log],
                           os.path.join(self.folder, "executor.err"))
        self.sink.launch()
        self.things.callback(self.sink.kill)

    def _network(self, nodes):
        self.nodes, self.spaces, specs = nodes, {}, []
        for node in nodes:
            space = Namespace()
            self.things.callback(space.close)
            if space.good:
                self.spaces[node] = space.path
        apart = len(self.spaces) == len(nodes)
        if not apart:
            self.spaces = {}
        self.apart = apart
        self.exec_port = free_port()
        self.ports = {}
        for node in nodes:
            inside = self.spaces[node] + ":" if apart else ""
            ports = {"db": free_port(), "http": free_port()}
            specs.append(f"{node}-db,{inside}{ports['db']},{self.db.port}")
            for i, member in enumerate(self.zk.members):
                ports[f"zk{i + 1}"] = free_port()
                specs.append(f"{node}-zk{i + 1},{inside}{ports[f'zk{i + 1}']},{member.port}")
            if apart:
                specs.append(f"{node}-exec,{inside}{self.exec_port},{self.sink_port}")
                specs.append(f"{node}-http,{ports['http']},{inside}{ports['http']}")
            self.ports[node] = ports
        if not apart:
            specs.append(f"all-exec,{self.exec_port},{self.sink_port}")
        self.links = Links(specs)
        self.things.callback(self.links.close)

    def common(self, node=None):
        ports = self.ports[node] if node else {"db": self.db.port, **{f"zk{i + 1}": m.port for i, m in enumerate(self.zk.members)}}
        hosts = ",".join(f"127.0.0.1:{ports[f'zk{i + 1}']}" for i in range(len(self.zk.members)))
        sets = [f"store.url=mysql://{self.user}@127.0.0.1:{ports['db']}/carillon_chaos", f"coordination.url=zk://{hosts}/chaos",
                f"coordination.session_timeout={self.session}s", "dispatch.allow=127.0.0.0/8",
                "dispatch.max_per_instance=2000", *self.settings]  # one executor stands for many: what it holds up must not hold up the rest
        return [word for s in sets for word in ("--set", s)]

    def _env(self, node=None):
        env = dict(os.environ, XDG_CONFIG_HOME="/nonexistent-carillon", CARILLON_STORE_PASSWORD=self.db.password)
        if node and self.clocks:
            env.update(LD_PRELOAD=FAKETIME, FAKETIME_TIMESTAMP_FILE=self.clock_file(node), FAKETIME_DONT_FAKE_MONOTONIC="1",
                       FAKETIME_CACHE_DURATION="1")
        return env

    def clock_file(self, node):
        return os.path.join(self.folder, f"clock-{node}")

    def set_clock(self, node, seconds):
        with open(self.clock_file(node) + ".new", "w", encoding="ascii") as f:
            f.write(f"{seconds:+d}s\n")
        os.replace(self.clock_file(node) + ".new", self.clock_file(node))

    def scheduler(self, node, name=None):
        """A process for the node; `name`: another process under the same id."""
        port = self.ports[node]["http"] if name is None else free_port()
        command = [BINARY, "scheduler", *self.common(node), "--set", f"scheduler.node_id={node}", "--listen", f"127.0.0.1:{port}"]
        if self.apart:
            command = ["nsenter", f"--net={self.spaces[node]}", "--", *command]
        return Server(name or node, command, os.path.join(self.folder, f"{name or node}.log"), self._env(node), f"http://127.0.0.1:{port}")

    def _processes(self, orchestrators):
        self.token = self.carillon("admin", "create-token", *self.common(), "--role", "admin").strip()
        self.orchestrators = []
        for i in range(orchestrators):
            port = free_port()
            command = [BINARY, "orchestrator", *self.common(), "--set", f"scheduler.node_id=o{i + 1}", "--listen", f"127.0.0.1:{port}"]
            server = Server(f"o{i + 1}", command, os.path.join(self.folder, f"o{i + 1}.log"), self._env(), f"http://127.0.0.1:{port}")
            self.orchestrators.append(server)
            self.things.callback(server.kill)
            server.start()
        self.api = Api(self.orchestrators[0].url, self.token)
        self.schedulers = {}
        for node in self.nodes:
            if self.clocks:
                self.set_clock(node, 0)
            self.schedulers[node] = self.scheduler(node)
            self.things.callback(self.schedulers[node].kill)

    def start(self):
        for server in self.schedulers.values():
            server.launch()
        self.ready()
        return self

    # ---- using --------------------------------------------------------------------------------------------------------------------

    def carillon(self, *words, ok=True):
        result = subprocess.run([BINARY, *words], check=False, capture_output=True, text=True, env=self._env())
        if ok and result.returncode:
            raise AssertionError(f"carillon {' '.join(words[:2])}: {result.returncode} {result.stderr}")
        return result.stdout if ok else result

    @property
    def executor_url(self):
        return f"http://127.0.0.1:{self.exec_port}"

    def exec_link(self, node):
        return f"{node}-exec" if self.apart else "all-exec"

    def ready(self, seconds=60):
        until(lambda: all(s.answers("/readyz") for s in self.schedulers.values() if s.alive), seconds, "every scheduler to be ready")

    def sql(self, text):
        return [line.split("\t") for line in self.db.sql(f"USE carillon_chaos; SET NAMES utf8mb4; {text}").splitlines()]

    def heal(self):
        """Every link, process, service and clock as at the start."""
        self.links("* flow")
        for node, server in self.schedulers.items():
            server.signal(signal.SIGCONT)
            if self.clocks:
                self.set_clock(node, 0)
        if self.db.process.poll() is not None:
            self.db.start()
        self.db.process.send_signal(signal.SIGCONT)
        for member in self.zk.members:
            if member.process.poll() is not None:
                member.launch()
            member.process.send_signal(signal.SIGCONT)
        self.zk.wait()
        self.sink.signal(signal.SIGCONT)
        if not self.sink.alive:
            self.sink.launch()
        for server in (*self.orchestrators, *self.schedulers.values()):
            if not server.alive:
                server.launch()

    def owners(self):
        """How many jobs each boot's node rules, by the store."""
        return {node: int(n) for node, n in self.sql(
            "SELECT b.node, COUNT(*) FROM job j JOIN slot s ON s.slot = j.slot JOIN boot b ON b.boot = s.owner_boot WHERE j.live = 1 GROUP BY b.node")}

    def close(self):
        for server in getattr(self, "schedulers", {}).values():
            server.signal(signal.SIGCONT)
        with contextlib.suppress(OSError, AttributeError):
            self.db.process.send_signal(signal.SIGCONT)
        for member in getattr(getattr(self, "zk", None), "members", []):
            with contextlib.suppress(OSError):
                member.process.send_signal(signal.SIGCONT)
        self.things.close()


@contextlib.contextmanager
def cluster(**options):
    c = Cluster(**options)
    try:
        yield c
    finally:
        c.close()


