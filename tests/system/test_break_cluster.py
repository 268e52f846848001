"""One fault after another under load on real ZooKeeper and MariaDB: stopped, killed, restarted; then the books are checked."""
import contextlib
import os
import signal
import subprocess
import threading
import time
import uuid

import pytest
import requests

from harness import BINARY, Api, Process, check_ledger, every, millis, until
from servers import servers

JOBS, PERIOD, PROJECT = 4, 500, "/projects/default"


@pytest.fixture
def cluster():
    """With servers of its own: the faults must not meet the other tests."""
    with servers() as (db, zk):
        name = "carillon_" + uuid.uuid4().hex[:8]
        settings = ["--set", f"store.url={db.database(name)}", "--set", f"coordination.url=zk://127.0.0.1:{zk.port}/{name}",
                    "--set", "coordination.session_timeout=2s", "--set", "dispatch.allow=127.0.0.0/8"]
        env = {"CARILLON_STORE_PASSWORD": db.password}
        token = subprocess.run([BINARY, "admin", "create-token", *settings, "--role", "admin"], check=True, capture_output=True, text=True,
                               env={**os.environ, **env}).stdout.strip()
        processes = {"o": Process("orchestrator", *settings, env=env)}
        processes["o"].start()
        for node in ("s1", "s2"):
            processes[node] = Process("scheduler", *settings, "--set", f"scheduler.node_id={node}", env=env).start("/readyz", 30)
        yield db, zk, processes, Api(processes["o"].url, token)
        for process in processes.values():
            process.kill()


def stopped(process, seconds):
    process.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    process.send_signal(signal.SIGCONT)


def killed(server, seconds):
    server.process.kill()
    server.process.wait()
    time.sleep(seconds)
    server.start()


def both(db, zk):
    zk.process.kill()
    zk.process.wait()
    killed(db, 1)
    zk.start()


def read_only(db):
    db.sql("SET GLOBAL read_only=1")
    time.sleep(2)
    db.sql("SET GLOBAL read_only=0")


def test_one_fault_after_another(cluster, executor):
    db, zk, processes, api = cluster
    for n in range(JOBS):
        api.job(f"tick{n}", [{"step": "a", "url": f"http://{executor.address}/t{n}"}, {"step": "b", "url": f"http://{executor.address}/u{n}", "after": ["a"]}],
                [{"name": "t", "every": f"{PERIOD}ms", "align": True, "misfire": "all"}], overlap="allow", max_parallel=1000)
    api.job("asked", [{"step": "a", "url": f"http://{executor.address}/asked"}], overlap="allow", max_parallel=10000)
    acknowledged, over = [], threading.Event()

    def ask():
        mine = Api(processes["o"].url, api.session.headers["Authorization"][7:])
        while not over.wait(0.05):
            with contextlib.suppress(requests.RequestException):
                answer = mine.call("POST", f"{PROJECT}/jobs:enqueue", {"names": ["asked"]}, ok=False)
                if answer.status_code == 200 and answer.json()["items"][0]["ok"]:
                    acknowledged.append(answer.json()["items"][0]["result"]["run"])

    asking = threading.Thread(target=ask)
    asking.start()
    for what, fault in (("scheduler stopped past its session", lambda: stopped(processes["s1"].process, 4)),
                        ("MariaDB stopped", lambda: stopped(db.process, 3)), ("MariaDB killed", lambda: killed(db, 1)),
                        ("MariaDB read-only", lambda: read_only(db)), ("ZooKeeper stopped", lambda: stopped(zk.process, 4)),
                        ("ZooKeeper killed", lambda: killed(zk, 3)), ("both killed", lambda: both(db, zk)),
                        ("scheduler killed", lambda: (processes["s2"].kill(), processes["s2"].start("/readyz", 30))),
                        ("orchestrator killed", lambda: (processes["o"].kill(), processes["o"].start()))):
        fault()
        counts = [len(executor.of(f"/u{n}")) for n in range(JOBS)]
        until(lambda: all(len(executor.of(f"/u{n}")) > counts[n] + 1 for n in range(JOBS)), 20, f"fires after: {what}")
        assert all(p.process.poll() is None for p in processes.values()), f"a process ended after: {what}"
    over.set()
    asking.join()
    api.post(f"{PROJECT}/jobs:pause", {"names": [f"tick{n}" for n in range(JOBS)]})
    time.sleep(1)
    until(lambda: api.get(f"{PROJECT}/runs?state=queued,running&limit=1")["total"] == 0, 60, "all runs to end")
    have = {r["id"] for r in api.all(f"{PROJECT}/runs?job=asked")}
    assert acknowledged and not set(acknowledged) - have, "an acknowledged request is lost"
    for n in range(JOBS):
        items = api.all(f"{PROJECT}/ledger?job=tick{n}")
        runs = [i for i in items if i["outcome"] == "run"]
        first, last = millis(items[0]["scheduled_at"]), max(millis(i["scheduled_at"]) for i in runs)
        check_ledger([i for i in items if millis(i["scheduled_at"]) <= last], [("t", at) for at in every(0, PERIOD, first, last + 1)])
        ids = {i["run"] for i in runs}
        for path in (f"/t{n}", f"/u{n}"):
            keys = {c["key"] for c in executor.of(path)}
            assert {k.split(".")[0] for k in keys} == ids and len(keys) == len(ids), f"{path}: {len(ids)} runs, {len(keys)} keys"


def test_alive_though_the_store_hangs(cluster):
    """A store that neither answers nor refuses holds requests up, but not the questions whether the process lives."""
    db, _, processes, api = cluster
    db.process.send_signal(signal.SIGSTOP)
    try:
        threads = [threading.Thread(target=lambda: api.call("GET", f"{PROJECT}/jobs", ok=False)) for _ in range(8)]
        for thread in threads:
            thread.start()
        time.sleep(0.5)
        for process in processes.values():
            began = time.monotonic()
            assert requests.get(process.url + "/healthz", timeout=10).status_code == 200
            assert time.monotonic() - began < 1
    finally:
        db.process.send_signal(signal.SIGCONT)
    for thread in threads:
        thread.join()
    until(lambda: requests.get(processes["o"].url + "/readyz", timeout=10).status_code == 200, 20, "ready again")
