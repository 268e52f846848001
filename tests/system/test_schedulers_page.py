"""The schedulers page in a browser, on a real cluster: a job is moved, a scheduler drained and brought back."""
import os
import shutil
import subprocess
import uuid

import pytest

from harness import BINARY, Process

ROOT = os.path.join(os.path.dirname(__file__), "../..")
MODULES = os.path.join(os.path.dirname(os.path.abspath(BINARY)), "ui/stage/node_modules")


@pytest.fixture
def cluster(services):
    db, zk = services
    name = "carillon_" + uuid.uuid4().hex[:8]
    settings = ["--set", f"store.url={db.database(name)}", "--set", f"coordination.url=zk://127.0.0.1:{zk.port}/{name}"]
    env = {"CARILLON_STORE_PASSWORD": db.password}
    token = subprocess.run([BINARY, "admin", "create-token", *settings, "--role", "admin"], check=True, capture_output=True, text=True,
                           env={**os.environ, **env}).stdout.strip()
    processes = [Process("orchestrator", *settings, env=env)]
    processes[0].start()
    for node in ("s1", "s2"):
        processes.append(Process("scheduler", *settings, "--set", f"scheduler.node_id={node}", env=env))
        processes[-1].start("/readyz", 30)
    yield processes[0].url, token
    for process in processes:
        process.kill()


@pytest.mark.skipif(not os.path.isdir(os.path.join(MODULES, "playwright-core")), reason="built without the interface")
def test_an_operator_walks_through(cluster):
    url, token = cluster
    node = shutil.which("node") or shutil.which("nodejs")
    done = subprocess.run([node, os.path.join(ROOT, "tests/ui/cluster.mjs")], capture_output=True, text=True, timeout=240, check=False,
                          env=dict(os.environ, CARILLON_URL=url, CARILLON_TOKEN=token, CARILLON_UI_MODULES=MODULES))
    assert done.returncode == 0 and "walked" in done.stdout, done.stdout + done.stderr
