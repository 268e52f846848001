#!/usr/bin/python3
"""What `scripts/demo --cluster` runs after the build: a private MariaDB and ZooKeeper, an orchestrator, three schedulers and a job that rings
once a second. Kills the scheduler that holds the job and tells what happens. Usage: demo_cluster.py BUILD-FOLDER [--check]"""
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from datetime import datetime

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/lib"))
from servers import Ensemble, MariaDB, end, free_port, wait_port  # noqa: E402

SESSION = 6


def say(text):
    print(text, flush=True)


def millis(text):
    return round(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


class Demo:
    def __init__(self, build, folder, things):
        self.binary, self.build, self.folder, self.things = os.path.join(build, "carillon"), build, folder, things
        self.processes = {}

    def launch(self, name, command, port, env=None):
        with open(os.path.join(self.folder, f"{name}.log"), "ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=env)
        self.things.callback(end, process)
        wait_port(port, process, name)
        self.processes[name] = process

    def carillon(self, *words):
        return subprocess.run([self.binary, *words], check=True, capture_output=True, text=True, env=self.env).stdout

    def get(self, path):
        request = urllib.request.Request(f"{self.url}/api/v1{path}", headers={"Authorization": f"Bearer {self.token}"})
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=20) as answer:
            return json.load(answer)

    def scheduler(self, node):
        port = self.ports.setdefault(node, free_port())
        self.launch(node, [self.binary, "scheduler", *self.common, "--set", f"scheduler.node_id={node}", "--listen", f"127.0.0.1:{port}"], port, self.env)

    def start(self):
        db = MariaDB(self.folder)
        self.things.callback(db.stop)
        say("   a private MariaDB listens on port %d" % db.port)
        zk = Ensemble(self.folder, 1)
        self.things.callback(zk.stop)
        zk.start()
        say("   a private ZooKeeper listens on port %d" % zk.members[0].port)
        sets = [f"store.url={db.database('carillon_demo')}", f"coordination.url=zk://127.0.0.1:{zk.members[0].port}/demo",
                f"coordination.session_timeout={SESSION}s", "scheduler.shutdown_grace=5s"]
        self.common = [word for s in sets for word in ("--set", s)]
        self.env = dict(os.environ, CARILLON_STORE_PASSWORD=db.password, XDG_CONFIG_HOME=os.path.join(self.folder, "config"))
        self.token = self.carillon("admin", "create-token", *self.common, "--role", "admin").strip()
        port, bell = free_port(), free_port()
        self.ports, self.url = {}, f"http://127.0.0.1:{port}"
        self.env.update(CARILLON_URL=self.url, CARILLON_TOKEN=self.token)
        self.launch("executor", [os.path.join(self.build, "shop-executor"), f"127.0.0.1:{bell}"], bell)
        self.launch("orchestrator", [self.binary, "orchestrator", *self.common, "--set", "scheduler.node_id=o1", "--listen", f"127.0.0.1:{port}"],
                    port, self.env)
        for node in ("s1", "s2", "s3"):
            self.scheduler(node)
        job = os.path.join(self.folder, "bell.yaml")
        with open(job, "w", encoding="utf-8") as f:
            f.write("apiVersion: carillon/v1\nkind: Job\nmetadata: {name: bell}\nspec:\n  overlap: allow\n  triggers: [{name: t, every: 1s, align: true, "
                    f"misfire: all}}]\n  graph: [{{step: ring, url: 'http://127.0.0.1:{bell}/orders'}}]\n")
        say("   " + self.carillon("apply", "-f", job).strip().replace("\n", "\n   "))

    def owner(self):
        job = next(j for j in self.get("/projects/default/jobs")["items"] if j["name"] == "bell")
        return job["owner_node"]

    def ledger(self):
        return [i for i in self.get("/projects/default/ledger?job=bell&limit=1000")["items"]]

    def runs(self):
        return [r for r in self.get("/projects/default/runs?job=bell&limit=1000")["items"] if r["state"] != "queued"]

    def wait(self, condition, seconds, what):
        until = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > until:
                raise SystemExit(f"error: not within {seconds} s: {what}; the logs are in {self.folder}")
            time.sleep(0.2)

    def kill_owner(self):
        owner = self.owner()
        process = self.processes[owner]
        say(f"\n== kill -9 of {owner} (process {process.pid}), which holds the job\n")
        killed = time.time()
        process.kill()
        process.wait()
        told = None
        while self.owner() == owner:
            second = int(time.time() - killed)
            if second != told:
                told = second
                say(f"   {second:2d} s   the store still names {owner}: ZooKeeper waits for its session to end ({SESSION} s)")
            if second > 60:
                raise SystemExit(f"error: nobody took over; the logs are in {self.folder}")
            time.sleep(0.2)
        heir = self.owner()
        self.wait(lambda: any(r["scheduler"] == heir and r["started_at"] and millis(r["started_at"]) > killed * 1000 for r in self.runs()), 20,
                  f"{heir} to ring")
        say(f"   {time.time() - killed:4.1f} s   {heir} has claimed the job, fenced {owner}, and rings what was due meanwhile")
        return owner, heir, killed

    def verdict(self, killed):
        """The ledger against instants reckoned here: whole seconds since the first."""
        time.sleep(3)
        items = self.ledger()
        runs = [millis(i["scheduled_at"]) for i in items if i["outcome"] == "run"]
        promised = list(range(min(runs), max(runs) + 1, 1000))
        missed, twice = sorted(set(promised) - set(runs)), len(runs) - len(set(runs))
        late = max((millis(r["started_at"]) - millis(r["scheduled_at"]) for r in self.runs() if r["started_at"]), default=0)
        while_dead = sum(1 for r in runs if killed * 1000 <= r <= killed * 1000 + SESSION * 1000)
        say(f"\n   {len(promised)} seconds were promised: {len(set(runs))} have their run, {len(missed)} were missed, {twice} came twice.")
        say(f"   {while_dead} of them fell into the gap and rang late, {late / 1000:.1f} s at most (session {SESSION} s + 2 s).")
        return not missed and not twice and late < (SESSION + 9) * 1000


def main():
    build, check = sys.argv[1], "--check" in sys.argv[2:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="carillon-demo.") as folder, contextlib.ExitStack() as things:
        demo = Demo(build, folder, things)
        say("\n== starting a cluster\n")
        demo.start()
        demo.wait(lambda: len(demo.runs()) >= 5, 40, "five runs")
        say(f"\n   Job \"bell\" rings once a second. Of s1, s2 and s3 it is {demo.owner()} that holds it.")
        owner, _, killed = demo.kill_owner()
        good = demo.verdict(killed)
        say(f"\n== {owner} starts again\n")
        demo.scheduler(owner)
        say(f"   It joins as a new boot. The job stays with {demo.owner()}; slots move only to keep the balance.")
        say("\n" + demo.carillon("runs", "--limit", "12"))
        if check:
            say("demo: the take-over missed nothing and doubled nothing" if good else "demo: FAILED, see above")
            return 0 if good else 1
        say(f"  Open    {demo.url}\n  Log in  with this token: {demo.token}\n")
        for name, process in demo.processes.items():
            say(f"  {name:13} process {process.pid}")
        say("\nKill what you like and watch the runs; Ctrl-C ends the demo and removes its data.")
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                time.sleep(5)
                with contextlib.suppress(OSError):
                    say(f"   {len(demo.runs())} runs, held by {demo.owner()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
