"""The same main job on real ZooKeeper and MariaDB, in separate processes."""
import signal
import subprocess
import threading
import time
import uuid

import pytest
import requests

from harness import BINARY, Api, Process, check_ledger, every, millis, until


@pytest.fixture
def cluster(services):
    db, zk = services
    name = "carillon_" + uuid.uuid4().hex[:8]
    settings = ["--set", f"store.url={db.database(name)}", "--set", f"coordination.url=zk://127.0.0.1:{zk.port}/{name}",
                "--set", "coordination.session_timeout=2s", "--set", "dispatch.allow=127.0.0.0/8"]
    env = {"CARILLON_STORE_PASSWORD": db.password}
    processes = []

    class Cluster:
        def __init__(self):
            out = subprocess.run([BINARY, "admin", "create-token", *settings, "--role", "admin"], check=True, capture_output=True, text=True,
                                 env={**__import__("os").environ, **env})
            self.token = out.stdout.strip()
            self.orchestrator = Process("orchestrator", *settings, env=env)
            processes.append(self.orchestrator)
            self.orchestrator.start()
            self.api = Api(self.orchestrator.url, self.token)

        def process(self, node, *more):
            processes.append(Process("scheduler", *settings, "--set", f"scheduler.node_id={node}", *more, env=env))
            return processes[-1]

        def scheduler(self, node):
            return self.process(node).start("/readyz", 30)

    yield Cluster()
    for process in processes:
        process.kill()


def test_fires_and_fails_over(cluster, executor):
    one, two = cluster.scheduler("s1"), cluster.scheduler("s2")
    api = cluster.api
    for n in range(8):
        api.job(f"tick{n}", [{"step": "a", "url": f"http://{executor.address}/t{n}"}, {"step": "b", "url": f"http://{executor.address}/u{n}",
                                                                                      "after": ["a"]}],
                [{"name": "t", "every": "500ms", "align": True, "misfire": "all"}], overlap="allow", max_parallel=1000)
    until(lambda: all(len(executor.of(f"/u{n}")) > 3 for n in range(8)), 30, "eight jobs to run")
    owners = {j["owner_node"] for j in api.get("/projects/default/jobs")["items"]}
    assert owners <= {"s1", "s2"} and None not in owners
    one.kill()
    killed = time.time()
    counts = [len(executor.of(f"/t{n}")) for n in range(8)]
    until(lambda: all(len(executor.of(f"/t{n}")) > counts[n] + 2 for n in range(8)), 20, "the survivor to take over")
    assert time.time() - killed < 12
    for n in range(8):
        api.post("/projects/default/jobs:pause", {"names": [f"tick{n}"]})
    time.sleep(1)
    until(lambda: api.get("/projects/default/runs?state=queued,running&limit=1")["total"] == 0, 60, "all runs to end")
    for n in range(8):
        items = api.all(f"/projects/default/ledger?job=tick{n}")
        runs = [i for i in items if i["outcome"] == "run"]
        first, last = millis(items[0]["scheduled_at"]), max(millis(i["scheduled_at"]) for i in runs)
        check_ledger([i for i in items if millis(i["scheduled_at"]) <= last], [("t", at) for at in every(0, 500, first, last + 1)])
        ids = {i["run"] for i in runs}
        for path in (f"/t{n}", f"/u{n}"):
            keys = [c["key"] for c in executor.of(path)]
            assert {k.split(".")[0] for k in keys} == ids and len(set(keys)) == len(ids)
    assert two.stop(30) == 0


def test_report_reaches_the_survivor(cluster, executor):
    """Accepted by one scheduler, which dies; the report goes to the orchestrator and from there to whoever drives the run now."""
    nodes = {n: cluster.scheduler(n) for n in ("s1", "s2")}
    executor.behave["/long"] = lambda call: (202, {"status": "accepted"})
    cluster.api.job("long", [{"step": "a", "url": f"http://{executor.address}/long"}])
    run = cluster.api.enqueue("long")
    url = until(lambda: executor.of("/long"), what="the call")[0]["headers"]["X-Carillon-Callback"]
    assert url.startswith(cluster.orchestrator.url + "/api/v1/report/")
    until(lambda: cluster.api.run(run)["steps"][0]["attempts"][0]["state"] == "accepted", what="the 202 to be stored")
    nodes[cluster.api.run(run)["scheduler"]].kill()
    assert requests.post(url, json={"state": "succeeded", "result": 7}, timeout=20).json()["report"] == "stored"
    assert cluster.api.ended(run, 30)["state"] == "succeeded"
    assert len(executor.of("/long")) == 1


def test_a_scheduler_that_ends_gives_its_queue_away_and_says_so(cluster, executor):
    """SIGTERM with a long call in flight: what waits is another's at once, and begins there; people see `draining`, then `down`."""
    one, held = cluster.scheduler("s1"), threading.Event()
    executor.behave["/held"] = lambda call: held.wait(60) and {"status": "success"}
    cluster.api.job("held", [{"step": "a", "url": f"http://{executor.address}/held"}], max_parallel=2, overlap="allow")
    first, second, waits = (cluster.api.enqueue("held") for _ in range(3))
    until(lambda: len(executor.of("/held")) == 2, what="two calls under way")
    until(lambda: cluster.api.run(waits)["state"] == "queued", what="a third to wait")
    two = cluster.scheduler("s2")
    one.signal(signal.SIGTERM)

    def state():
        return {n["node"]: n["state"] for n in cluster.api.get("/schedulers")["items"]}["s1"]

    until(lambda: state() == "draining", 5, "s1 to be seen draining")
    until(lambda: cluster.api.run(waits)["scheduler"] == "s2", 15, "the one that waits to be s2's")
    assert [cluster.api.run(r)["scheduler"] for r in (first, second)] == ["s1", "s1"] and state() == "draining"
    held.set()
    assert cluster.api.ended(waits, 20)["state"] == "succeeded"
    assert len(executor.of("/held")) == 3
    until(lambda: state() == "down", 10, "s1 to be down")
    assert all(cluster.api.run(r)["state"] == "succeeded" for r in (first, second))
    assert two.stop(30) == 0


def test_a_second_process_with_a_live_id_is_refused(cluster):
    cluster.scheduler("twin")
    with pytest.raises(AssertionError):
        cluster.scheduler("twin")


def test_a_coordination_that_is_none(cluster, services):
    """Something listens there, and it is no ZooKeeper: the scheduler says what to look at."""
    process = cluster.process("lost", "--set", f"coordination.url=zk://127.0.0.1:{services[0].port}/x").start("/healthz")
    until(lambda: "check coordination.url" in requests.get(process.url + "/readyz", timeout=2).text, 20, "/readyz to name the remedy")
    assert "check coordination.url" in process.output()


def test_enqueued_while_no_scheduler_runs(cluster, executor):
    cluster.api.job("later", [{"step": "a", "url": f"http://{executor.address}/later"}])
    run = cluster.api.enqueue("later")
    assert cluster.api.run(run)["state"] == "queued"
    cluster.scheduler("s1")
    assert cluster.api.ended(run, 30)["state"] == "succeeded"


def test_own_services_are_never_called(cluster, services):
    """Store and coordination of this cluster and the scheduler itself, though dispatch.allow names their network."""
    db, zk = services
    ports = [db.port, zk.port, cluster.scheduler("s1").port]
    runs = []
    for n, url in enumerate(u for port in ports for u in (f"http://127.0.0.1:{port}/", f"http://localhost:{port}/", f"http://[::ffff:127.0.0.1]:{port}/")):
        cluster.api.job(f"own{n}", [{"step": "a", "url": url, "method": "GET", "wait_timeout": "0s", "timeout": "3s"}])
        runs.append((url, cluster.api.enqueue(f"own{n}")))
    for url, run in runs:
        (attempt,) = cluster.api.ended(run)["steps"][0]["attempts"]
        assert attempt["class"] == "not_sent" and "refused: it is" in attempt["error"] and attempt["bytes_sent"] == 0, (url, attempt)
