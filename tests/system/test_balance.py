"""Real schedulers share the jobs: bound of load, moves by hand, drain and back, pools, a second process of one name."""
import os
import subprocess
import uuid

import pytest
import requests

from harness import BINARY, Api, Process, free_port, until

JOBS = 60


@pytest.fixture
def cluster(services):
    db, zk = services
    name = "carillon_" + uuid.uuid4().hex[:8]
    settings = ["--set", f"store.url={db.database(name)}", "--set", f"coordination.url=zk://127.0.0.1:{zk.port}/{name}",
                "--set", "coordination.session_timeout=2s", "--set", "coordination.moves_per_second=500", "--set",
                "dispatch.allow=127.0.0.0/8"]
    env = {"CARILLON_STORE_PASSWORD": db.password}
    processes = []

    class Cluster:
        def __init__(self):
            self.token = subprocess.run([BINARY, "admin", "create-token", *settings, "--role", "admin"], check=True, capture_output=True,
                                        text=True, env={**os.environ, **env}).stdout.strip()
            self.orchestrator = Process("orchestrator", *settings, env=env)
            processes.append(self.orchestrator)
            self.orchestrator.start()
            self.api = Api(self.orchestrator.url, self.token)

        def scheduler(self, node, *more):
            process = Process("scheduler", *settings, "--set", f"scheduler.node_id={node}", *more, env=env)
            processes.append(process)
            return process.start("/readyz", 30)

        def second(self, node):
            """A process with the name of a living one, on an address of its own."""
            port = free_port()
            return port, subprocess.Popen([BINARY, "scheduler", *settings, "--set", f"scheduler.node_id={node}", "--listen", f"127.0.0.1:{port}"],
                                          stderr=subprocess.PIPE, text=True, env={**os.environ, **env})

        def nodes(self):
            return {n["node"]: n for n in self.api.get("/schedulers")["items"]}

    yield Cluster()
    for process in processes:
        process.kill()


def owners(api):
    held = {}
    for job in api.all("/projects/default/jobs"):
        held.setdefault(job["owner_node"], []).append(job["metadata"]["name"] if "metadata" in job else job["name"])
    return held


def balanced(api, nodes):
    held = owners(api)
    return set(held) == set(nodes) and all(len(jobs) <= 1.1 * JOBS / len(nodes) + 1 for jobs in held.values())


def test_a_cluster_shares_its_jobs(cluster, executor):
    api = cluster.api
    cluster.scheduler("s1")
    for n in range(JOBS):
        api.job(f"j{n}", [{"step": "a", "url": f"http://{executor.address}/j{n}"}], [{"name": "t", "every": "1h"}])
    two = cluster.scheduler("s2")
    until(lambda: balanced(api, {"s1", "s2"}), 60, "two nodes to share the jobs")
    three = cluster.scheduler("s3", "--set", "scheduler.pool=far")

    name = owners(api)["s1"][0]
    api.post("/projects/default/jobs:move", {"names": [name], "node": "s2"})
    until(lambda: name in owners(api).get("s2", []), 30, "the job to be moved by hand")
    api.post("/projects/default/jobs:run", {"names": [name]})
    until(lambda: executor.of("/" + name), 10, "it to run there")

    api.job("placed", [{"step": "a", "url": f"http://{executor.address}/placed"}], [{"name": "t", "every": "1s"}], pool="far")
    until(lambda: "placed" in owners(api).get("s3", []), 30, "a job to be where its pool says")
    until(lambda: executor.of("/placed"), 10, "it to fire there")

    api.post("/schedulers:drain", {"names": ["s2"]})
    until(lambda: cluster.nodes()["s2"]["state"] == "offline", 30, "a drained node to be offline")
    assert "s2" not in owners(api) and two.process.poll() is None
    api.post("/schedulers:online", {"names": ["s2"]})
    until(lambda: name in owners(api).get("s2", []) and len(owners(api)["s2"]) > JOBS / 4, 60, "it to come back with what was moved to it")
    three.kill()
    until(lambda: "placed" in sum((jobs for node, jobs in owners(api).items() if node in ("s1", "s2")), []), 30, "others to hold what the pool cannot")


def test_a_second_process_of_one_name(cluster):
    cluster.scheduler("s1")
    before = cluster.nodes()["s1"]
    port, second = cluster.second("s1")
    seen = set()

    def ended():
        try:
            seen.add(requests.get(f"http://127.0.0.1:{port}/readyz", timeout=5).status_code)
        except requests.RequestException:
            pass
        return second.poll() is not None

    until(ended, 30, "the second process to give up")
    text = second.stderr.read()
    assert second.returncode == 73 and "scheduler.node_id" in text, (second.returncode, text)
    assert seen == {503}
    after = cluster.nodes()["s1"]
    assert {k: after[k] for k in ("address", "boot", "state")} == {k: before[k] for k in ("address", "boot", "state")}
