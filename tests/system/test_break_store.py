"""The store's file under other people's hands: other programs on it, deleted, damaged, read-only."""
import contextlib
import os
import shutil
import sqlite3
import subprocess
import time

import pytest
import requests

from harness import BINARY, Api, Standalone, check_ledger, every, free_port, millis, until


def carillon(*args, env=None):
    return subprocess.run([BINARY, *args], capture_output=True, text=True, timeout=60, check=False,
                          env=dict(os.environ, XDG_CONFIG_HOME="/nonexistent-carillon", **(env or {})))


def test_other_programs_come_and_go_beside_a_server(standalone, executor):
    """Each closes its connections while the server has some open. The server's locks must outlive the connections that
    it opens itself meanwhile, or the last to leave removes the log, and with it what was acknowledged."""
    api, tokens = standalone.api, []
    for n in range(6):
        api.job(f"kept{n}", [{"step": "a", "url": f"http://{executor.address}/kept"}])
        out = carillon("admin", "create-token", "--data", str(standalone.folder), "--role", "viewer")
        assert out.returncode == 0, out.stderr
        tokens.append(out.stdout.strip())
        assert Api(standalone.url, tokens[-1]).call("GET", "/projects/default/jobs", ok=False).status_code == 200, n
        assert api.ended(api.enqueue(f"kept{n}"))["state"] == "succeeded"
        assert os.path.exists(standalone.folder / "carillon.db-wal")
    standalone.kill()
    standalone.start()
    assert standalone.api.get("/projects/default/jobs")["total"] == 6
    assert standalone.api.get("/projects/default/runs?state=succeeded")["total"] == 6
    for token in tokens:
        assert Api(standalone.url, token).get("/projects/default/jobs")["total"] == 6


def test_file_deleted_in_use(standalone, executor):
    """Nothing is acknowledged that only a nameless file would hold; with the file back all goes on."""
    api = standalone.api
    api.job("tick", [{"step": "a", "url": f"http://{executor.address}/tick"}], [{"name": "t", "every": "200ms", "align": True, "misfire": "all"}],
            overlap="allow", max_parallel=100)
    until(lambda: len(executor.of("/tick")) > 2)
    os.rename(standalone.folder / "carillon.db", standalone.folder / "moved.db")
    time.sleep(0.5)
    before = len(executor.of("/tick"))
    answer = api.call("PUT", "/projects/default/jobs/ghost", {"spec": {"graph": [{"step": "a", "url": "http://h.invalid/"}]}}, ok=False)
    assert answer.status_code == 503 and answer.json()["error"]["code"], answer.text
    until(lambda: requests.get(standalone.url + "/readyz", timeout=5).status_code == 503, 10, "not ready any more")
    assert requests.get(standalone.url + "/healthz", timeout=5).status_code == 200
    assert len(executor.of("/tick")) <= before + 1, "it fired without a store"
    assert "deleted or moved" in standalone.output()
    os.rename(standalone.folder / "moved.db", standalone.folder / "carillon.db")
    until(lambda: len(executor.of("/tick")) > before + 3, 15, "fires after the file came back")
    api.post("/projects/default/jobs:pause", {"names": ["tick"]})
    time.sleep(1)
    until(lambda: api.get("/projects/default/runs?state=queued,running&limit=1")["total"] == 0)
    items = api.all("/projects/default/ledger?job=tick")
    runs = [i for i in items if i["outcome"] == "run"]
    first, last = millis(items[0]["scheduled_at"]), max(millis(i["scheduled_at"]) for i in runs)
    check_ledger([i for i in items if millis(i["scheduled_at"]) <= last], [("t", at) for at in every(0, 200, first, last + 1)])
    assert {c["key"].split(".")[0] for c in executor.of("/tick")} == {i["run"] for i in runs}


def broken(kind, source, folder):
    folder.mkdir()
    path = folder / "carillon.db"
    if kind == "folder":
        path.mkdir()
        return
    shutil.copy(source, path)
    if kind == "garbage":
        path.write_bytes(os.urandom(100000))
    elif kind == "cut":
        os.truncate(path, os.path.getsize(path) // 2)
    elif kind == "overwritten":
        with open(path, "r+b") as f:
            f.seek(8192)
            f.write(os.urandom(os.path.getsize(path) // 2))


def test_damaged_files_are_told_at_the_start(standalone, tmp_path):
    standalone.stop()
    for kind in ("garbage", "cut", "overwritten", "folder"):
        broken(kind, standalone.folder / "carillon.db", tmp_path / kind)
        out = carillon("standalone", "--data", str(tmp_path / kind), "--listen", f"127.0.0.1:{free_port()}")
        assert out.returncode in (1, 5), (kind, out)
        assert str(tmp_path / kind) in out.stderr and "SELECT" not in out.stderr, (kind, out.stderr)
        assert ("backup" in out.stderr) == (kind != "folder"), (kind, out.stderr)


@pytest.mark.skipif(os.getuid() != 0, reason="mounting needs root")
def test_folder_that_becomes_read_only(tmp_path):
    folder = tmp_path / "data"
    Standalone(folder).start().stop()
    if subprocess.run(["mount", "--bind", str(folder), str(folder)], check=False, capture_output=True).returncode:
        pytest.skip("this machine does not let tests mount")
    try:
        if subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)], check=False, capture_output=True).returncode:
            pytest.skip("this machine does not let tests remount")
        out = carillon("standalone", "--data", str(folder), "--listen", f"127.0.0.1:{free_port()}")
        assert out.returncode not in (0, None) and str(folder) in out.stderr and "ead-only" in out.stderr, out
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def test_wrong_password_and_dead_server(services):
    db, zk = services
    url = db.database("carillon_wrong")
    for password, target, word in (("sesame-open", url, "password"), (db.password, f"mysql://carillon@127.0.0.1:{free_port()}/x", "reached"),
                                   (db.password, url.replace("carillon_wrong", "carillon_nowhere"), "carillon_nowhere")):
        out = carillon("orchestrator", "--set", f"store.url={target}", "--set", f"coordination.url=zk://127.0.0.1:{zk.port}/wrong",
                       "--listen", f"127.0.0.1:{free_port()}", env={"CARILLON_STORE_PASSWORD": password})
        assert out.returncode in (5, 78) and word in out.stderr, out
        assert password not in out.stderr


def test_a_store_that_is_nearly_full_is_told_where_people_look(tmp_path):
    folder = tmp_path / "data"
    server = Standalone(folder).start()
    server.kill()
    with contextlib.closing(sqlite3.connect(folder / "carillon.db")) as db, db:
        db.execute("CREATE TABLE filler (x)")
        db.execute("INSERT INTO filler VALUES (zeroblob(15000000))")
    server = Standalone(folder, "--set", "store.max_size=16MiB").start()
    try:
        answer = until(lambda: requests.get(f"{server.url}/readyz", timeout=5).json().get("warning"), 20)
        assert "store.max_size" in answer and "retention" in answer
        server.api.job("still", [{"step": "a", "kind": "noop"}])
        assert server.api.ended(server.api.enqueue("still"))["state"] == "succeeded"
    finally:
        server.kill()
