"""What goes wrong is said clearly, with a code, and nothing is lost."""
import json
import os
import subprocess

import pytest
import requests

from harness import BINARY, Standalone, free_port


def carillon(*args, env=None, **kw):
    return subprocess.run([BINARY, *args], capture_output=True, text=True, timeout=60, check=False,
                          env=dict(os.environ, XDG_CONFIG_HOME="/nonexistent-carillon", **(env or {})), **kw)


def test_cron_next_needs_no_server():
    out = carillon("cron", "next", "0 30 2 * * ?", "--timezone", "America/New_York", "--from", "2026-03-08T00:00:00Z", "--count", "2", "--json")
    assert out.returncode == 0 and json.loads(out.stdout) == {"next": ["2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"]}
    out = carillon("cron", "next", "0 0 0 30 2 ?", "--json")
    assert out.returncode == 0 and json.loads(out.stdout) == {"next": []}
    out = carillon("cron", "next", "61 * * * *")
    assert out.returncode == 2 and "61" in out.stderr


def test_second_process_on_one_folder(standalone):
    out = carillon("standalone", "--data", str(standalone.folder), "--listen", f"127.0.0.1:{free_port()}")
    assert out.returncode == 73 and str(standalone.folder) in out.stderr


def test_port_in_use(standalone, tmp_path):
    out = carillon("standalone", "--data", str(tmp_path / "other"), "--listen", f"127.0.0.1:{standalone.port}")
    assert out.returncode == 73 and str(standalone.port) in out.stderr


def test_settings_are_checked():
    for args, word in ((("--set", "scheduler.poll_interval=fast"), "scheduler.poll_interval"), (("--set", "no.such=1"), "no.such"),
                       (("--config", "/nonexistent.yaml"), "/nonexistent.yaml"),
                       (("--set", "coordination.url=zk://h:1/x"), "coordination.url")):
        out = carillon("standalone", "--data", "/tmp/carillon-never", *args)
        assert out.returncode == 78 and word in out.stderr, (args, out)
    out = carillon("config", env={"CARILLON_SCHEDULER_POLL": "1s"})
    assert out.returncode == 78 and "CARILLON_SCHEDULER_POLL" in out.stderr


def test_folder_that_cannot_be_written():
    out = carillon("standalone", "--data", "/proc/carillon", "--listen", f"127.0.0.1:{free_port()}")
    assert out.returncode != 0 and "/proc/carillon" in out.stderr


@pytest.mark.skipif(os.getuid() != 0, reason="mounting a small file system needs root")
def test_full_disk(tmp_path, executor):
    folder = tmp_path / "small"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)], check=False, capture_output=True).returncode:
        pytest.skip("this machine does not let tests mount a tmpfs")
    try:
        server = Standalone(folder).start()
        code = 200
        for n in range(400):
            body = {"spec": {"graph": [{"step": "a", "url": f"http://{executor.address}/x"}], "params": {"fill": "x" * 60000}}}
            answer = server.api.put(f"/projects/default/jobs/fill{n}", body, ok=False)
            code = answer.status_code
            if code >= 300:
                break
        assert code == 503 and answer.json()["error"]["code"], answer.text
        assert requests.get(server.url + "/healthz", timeout=5).status_code == 200
        server.kill()
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def test_bad_document_lists_every_fault(standalone):
    answer = standalone.api.put("/projects/default/jobs/bad", {"spec": {
        "triggers": [{"name": "a", "cron": "61 * * * *"}, {"name": "a", "every": "5"}, {"name": "manual-x", "at": "yesterday"}],
        "graph": [{"step": "x", "url": "ftp://h/"}, {"step": "y", "task": "no/such", "after": ["z"]}, {"step": "x", "url": "http://h/"}],
        "overlap": "maybe", "unknown_member": 1}}, ok=False)
    assert answer.status_code == 400
    error = answer.json()["error"]
    paths = " ".join(d["path"] + " " + d["message"] for d in error["details"])
    assert error["code"] == "SCHEDULING_VALIDATION_001"
    for path in ("spec.triggers[1]", "spec.triggers[2]", "spec.graph[0]", "spec.graph[1].after[0]", "spec.graph[2]", "spec.overlap",
                 "unknown_member"):
        assert path in paths, (path, error["details"])
    assert standalone.api.get("/projects/default/jobs")["total"] == 0


def test_authorization_and_languages(standalone):
    url = standalone.url + "/api/v1/projects/default/jobs"
    assert requests.get(url, timeout=5).status_code == 401
    assert requests.get(url, headers={"Authorization": "Bearer cr_wrong"}, timeout=5).status_code == 401
    for path in ("/healthz", "/readyz", "/metrics"):
        assert requests.get(standalone.url + path, timeout=5).status_code == 200
    texts = {standalone.api.get("/projects/default/jobs/nope", ok=False, headers={"Accept-Language": lang}).json()["error"]["message"]
             for lang in ("en", "zh-CN")}
    assert len(texts) == 2
    out = carillon("admin", "create-token", "--data", str(standalone.folder), "--role", "viewer")
    token = out.stdout.strip()
    assert out.returncode == 0 and "\n" not in token
    headers = {"Authorization": f"Bearer {token}"}
    assert requests.get(url, headers=headers, timeout=5).status_code == 200
    assert requests.put(url + "/x", headers=headers, data="{}", timeout=5).status_code == 403


def test_token_file_is_private(standalone):
    assert os.stat(standalone.folder / "admin.token").st_mode & 0o777 == 0o600


def test_targets_that_are_not_allowed(standalone):
    api = standalone.api
    api.job("meta", [{"step": "a", "url": "http://169.254.169.254/latest/meta-data", "wait_timeout": "1s"}])
    run = api.enqueue("meta")
    detail = api.ended(run, 30)
    attempts = detail["steps"][0]["attempts"]
    assert detail["state"] == "failed" and attempts[0]["class"] == "not_sent" and "dispatch.allow" in attempts[0]["error"]


def test_idle_is_small(standalone):
    with open(f"/proc/{standalone.process.pid}/status", encoding="ascii") as f:
        rss = next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))
    if "asan" not in BINARY and "tsan" not in BINARY:
        assert rss < 30 * 1024, f"{rss} KiB resident"


def test_another_program_on_the_database_loses_nothing(tmp_path, executor):
    """The command line opens the database beside the running server: the write-ahead log must outlive that."""
    server = Standalone(tmp_path / "data").start()
    assert carillon("admin", "create-token", "--data", str(server.folder)).returncode == 0
    server.api.job("kept", [{"step": "a", "url": f"http://{executor.address}/kept"}])
    run = server.api.enqueue("kept")
    assert server.api.ended(run)["state"] == "succeeded"
    assert os.path.exists(server.folder / "carillon.db-wal")
    server.kill()
    server.start()
    assert server.api.run(run)["state"] == "succeeded"
    server.stop()


def test_the_page_of_settings_is_the_table():
    page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/reference/settings.md")
    with open(page, encoding="utf-8") as f:
        assert f.read() == carillon("config", "--markdown").stdout, "carillon config --markdown > docs/reference/settings.md"
