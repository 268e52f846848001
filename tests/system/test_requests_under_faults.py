"""Run, enqueue, cancel, pause: acknowledged and obeyed while every scheduler, ZooKeeper or the store is away, or answered 503."""
import os
import subprocess
import time
import uuid
from datetime import datetime

import pytest
import requests

from harness import BINARY, Api, Process, until
from servers import servers

JOBS = "/projects/default/jobs"


class Cluster:
    def __init__(self, db, zk):
        name = "carillon_" + uuid.uuid4().hex[:8]
        self.db, self.zk, self.processes = db, zk, []
        self.settings = ["--set", f"store.url={db.database(name)}", "--set", f"coordination.url=zk://127.0.0.1:{zk.port}/{name}",
                         "--set", "coordination.session_timeout=2s", "--set", "dispatch.allow=127.0.0.0/8"]
        self.env = {"CARILLON_STORE_PASSWORD": db.password}
        self.token = subprocess.run([BINARY, "admin", "create-token", *self.settings, "--role", "admin"], check=True, capture_output=True,
                                    text=True, env={**os.environ, **self.env}).stdout.strip()
        self.orchestrator = self.start("orchestrator", "/healthz")
        self.api = Api(self.orchestrator.url, self.token)

    def start(self, role, ready, *args):
        process = Process(role, *self.settings, *args, env=self.env)
        self.processes.append(process)
        return process.start(ready, 60)

    def ask(self, method, path, body=None):
        return requests.request(method, f"{self.orchestrator.url}/api/v1{path}", json=body, timeout=60,
                                headers={"Authorization": f"Bearer {self.token}"})

    def verb(self, verb, name, query="", **more):
        answer = self.ask("POST", f"{JOBS}:{verb}{query}", {"names": [name], **more})
        return answer if answer.status_code != 200 else answer.json()["items"][0]


@pytest.fixture(scope="module")
def cluster():
    """With servers of its own: the faults must not meet the other tests."""
    with servers() as (db, zk):
        c = Cluster(db, zk)
        yield c
        for process in c.processes:
            process.kill()


def test_every_scheduler_is_down(cluster, executor):
    """First in this file: none was ever started."""
    c, api = cluster, cluster.api
    api.job("later", [{"step": "a", "url": f"http://{executor.address}/later"}], [{"name": "t", "every": "1s"}])
    kept, ended = c.verb("enqueue", "later"), c.verb("enqueue", "later")
    assert kept["ok"] and ended["ok"]
    assert api.run(kept["result"]["run"])["state"] == "queued"
    answer = c.ask("POST", "/projects/default/runs:cancel", {"ids": [ended["result"]["run"]]}).json()["items"][0]
    assert answer["ok"], answer
    assert c.verb("pause", "later")["result"]["paused"]
    paused = time.time()
    time.sleep(3)
    refused = c.verb("run", "later", "?wait=30s")
    assert not refused["ok"] and refused["error"]["code"] == "SCHEDULING_UNAVAILABLE_001" and refused["error"]["http"] == 503
    c.start("scheduler", "/readyz", "--set", "scheduler.node_id=s1")
    assert api.ended(kept["result"]["run"], 60)["state"] == "succeeded"
    assert api.ended(ended["result"]["run"], 60)["state"] == "canceled"
    until(lambda: api.get(f"{JOBS}/later/explain")["triggers"][0]["state"] == "paused", 30, "the pause")
    runs = {call["headers"]["X-Carillon-Run"] for call in executor.of("/later")}
    assert kept["result"]["run"] in runs and ended["result"]["run"] not in runs
    time.sleep(2)
    own = [run for run in api.get("/projects/default/runs?job=later")["items"] if run["trigger"] == "t"]
    late = [run for run in own if datetime.fromisoformat(run["scheduled_at"].replace("Z", "+00:00")).timestamp() > paused]
    assert not late, "a paused job fires by itself"


def test_zookeeper_is_away(cluster, executor):
    c, api = cluster, cluster.api
    executor.behave["/slow"] = lambda call: (202, {"status": "accepted"})
    api.job("go", [{"step": "a", "url": f"http://{executor.address}/go"}])
    api.job("slow", [{"step": "a", "url": f"http://{executor.address}/slow"}])
    assert api.ended(c.verb("enqueue", "go")["result"]["run"], 60)["state"] == "succeeded"
    c.zk.process.kill()
    c.zk.process.wait()
    try:
        assert api.ended(c.verb("enqueue", "go")["result"]["run"], 60)["state"] == "succeeded"
        assert c.verb("run", "go", "?wait=30s")["result"]["state"] == "succeeded"
        run = c.verb("enqueue", "slow")["result"]["run"]
        until(lambda: api.run(run)["state"] == "running", 30, "the slow run")
        assert c.ask("POST", "/projects/default/runs:cancel", {"ids": [run]}).json()["items"][0]["ok"]
        assert api.ended(run, 60)["state"] == "canceled"
        assert c.verb("pause", "go")["ok"] and api.get(f"{JOBS}/go/status")["state"] == "paused"
        assert c.verb("resume", "go")["ok"] and api.get(f"{JOBS}/go/status")["state"] == "active"
    finally:
        c.zk.start()


def test_the_store_is_away(cluster, executor):
    c, api = cluster, cluster.api
    api.job("after", [{"step": "a", "url": f"http://{executor.address}/after"}])
    c.db.process.kill()
    c.db.process.wait()
    try:
        for verb in ("enqueue", "run", "pause", "resume", "cancel", "move"):
            answer = c.verb(verb, "after", node=None)
            if isinstance(answer, dict):  # told per item
                assert not answer["ok"] and answer["error"]["code"] == "SCHEDULING_UNAVAILABLE_003", (verb, answer)
            else:
                assert answer.status_code == 503 and answer.json()["error"]["code"] == "SCHEDULING_UNAVAILABLE_003", (verb, answer.text)
                assert answer.headers["Retry-After"] == "1"
        answer = c.ask("POST", "/leases/x:acquire", {})
        assert answer.status_code == 503 and answer.json()["error"]["code"] == "SCHEDULING_UNAVAILABLE_003"
        assert c.ask("GET", "/schedulers").status_code == 503
    finally:
        c.db.start()
    run = until(lambda: (lambda a: isinstance(a, dict) and a["ok"] and a["result"]["run"])(c.verb("enqueue", "after")), 60, "the store")
    assert api.ended(run, 90)["state"] == "succeeded"
    assert {call["headers"]["X-Carillon-Run"] for call in executor.of("/after")} == {run}, "what was refused ran all the same"


def cli(cluster, *args, code=0):
    env = dict(os.environ, CARILLON_URL=cluster.orchestrator.url, CARILLON_TOKEN=cluster.token)
    out = subprocess.run([BINARY, *args], capture_output=True, text=True, timeout=120, check=False, env=env)
    assert out.returncode == code, f"{args}: ended with {out.returncode}, not {code}\n{out.stdout}{out.stderr}"
    return out


def test_drained_brought_back_and_forgotten(cluster, executor):
    c, api = cluster, cluster.api
    second = c.start("scheduler", "/readyz", "--set", "scheduler.node_id=s2")
    executor.behave["/work"] = lambda call: time.sleep(6) or {"status": "success"}
    for n in range(6):
        api.job(f"tick{n}", [{"step": "a", "url": f"http://{executor.address}/tick{n}"}], [{"name": "t", "every": "500ms"}])
    api.job("work", [{"step": "a", "url": f"http://{executor.address}/work"}])
    until(lambda: all(executor.of(f"/tick{n}") for n in range(6)), 60, "the ticks")
    run = api.enqueue("work")
    owner = until(lambda: api.run(run)["state"] == "running" and api.run(run)["scheduler"], 60, "the work")
    other = {"s1": "s2", "s2": "s1"}[owner]
    out = cli(c, "schedulers", "drain", owner, "--wait")
    assert f"{owner} is offline" in out.stdout and run in out.stderr, out
    node = api.get(f"/schedulers/{owner}")
    assert node["state"] == "offline" and node["slots"] == 0 and node["runs"] == 0 and node["wish_by"]
    assert api.run(run)["state"] == "succeeded" and api.run(run)["scheduler"] == owner, "what it had begun it ended itself"
    assert {j["owner_node"] for j in api.get(JOBS)["items"]} == {other}
    counts = [len(executor.of(f"/tick{n}")) for n in range(6)]
    until(lambda: all(len(executor.of(f"/tick{n}")) > counts[n] for n in range(6)), 30, "the other to fire")
    assert f"asked to work {owner}: working" in cli(c, "schedulers", "online", owner).stdout
    until(lambda: api.get(f"/schedulers/{owner}")["slots"] > 0, 60, "its share")
    cli(c, "schedulers", "forget", "s2", code=4)
    second.kill()
    until(lambda: api.get("/schedulers/s2")["state"] == "down" and api.get("/schedulers/s2")["slots"] == 0, 60, "the take-over")
    cli(c, "schedulers", "forget", "s2")
    assert [n["node"] for n in api.get("/schedulers")["items"]] == ["s1"]
