"""Long work while it works: progress and lines are seen, silence is noticed, a killed executor's key is called again."""
import subprocess
import time

import pytest
import requests

from harness import BINARY, until
from test_executor_lib import Example


@pytest.fixture
def long_executor(tmp_path):
    e = Example("long-executor", "--idempotency-dir", str(tmp_path / "keys")).start()
    yield e
    if e.process.poll() is None:
        e.kill()


def job(standalone, e, seconds, **step):
    standalone.api.job("report", [{"step": "report", "url": f"{e.url}/report", "params": {"seconds": seconds}, **step}])
    return standalone.api.enqueue("report")


def told(standalone, run):
    progress = standalone.api.run(run)["progress"]
    return progress[0] if progress else {}


def test_progress_and_lines(standalone, long_executor):
    run = job(standalone, long_executor, 3)
    seen = until(lambda: (p := told(standalone, run)).get("progress", 0) >= 33 and p, what="progress")
    assert seen["message"].startswith("page ") and standalone.api.run(run)["state"] == "running"
    until(lambda: told(standalone, run).get("lines", 0) > 0, what="lines while it works")
    follow = subprocess.run([BINARY, "logs", run, "--follow", "--url", standalone.url, "--token", standalone.token], capture_output=True, text=True, check=True, timeout=30)
    assert [line.split("  ", 2)[2] for line in follow.stdout.splitlines()] == [f"page {n} of 6" for n in range(1, 7)]
    ended = standalone.api.ended(run)
    assert ended["state"] == "succeeded" and ended["steps"][0]["attempts"][0]["class"] == "success"
    page = standalone.api.get(f"/projects/default/runs/{run}/logs?skip=4&step=report")["items"]
    assert [(i["line"], i["text"]) for i in page] == [(4, "page 5 of 6"), (5, "page 6 of 6")]
    assert standalone.api.get(f"/projects/default/runs/{run}/logs?step=other")["items"] == []
    assert standalone.api.call("GET", "/projects/default/runs/12345/logs", ok=False).status_code == 404


def test_a_killed_executor_is_noticed_and_called_again(standalone, long_executor):
    run = job(standalone, long_executor, 4, on_failure="retry", retry={"max": 3, "delay": "1s"}, timeout="1h")
    until(lambda: told(standalone, run).get("progress", 0) > 0, what="progress")
    long_executor.kill()
    begin = time.monotonic()
    long_executor.start()
    ended = standalone.api.ended(run, seconds=60)
    assert ended["state"] == "succeeded" and time.monotonic() - begin < 40
    attempts = ended["steps"][0]["attempts"]
    assert [a["class"] for a in attempts] == ["heartbeat", "success"] and "no sign of life" in attempts[0]["error"]
    lines = [i["text"] for i in standalone.api.get(f"/projects/default/runs/{run}/logs")["items"]]
    assert any("an earlier process was stopped" in line for line in lines), "the same key: the handler knows"


def test_lines_by_hand(standalone, executor):
    executor.behave["/long"] = lambda call: (202, {"status": "accepted"})
    standalone.api.job("hand", [{"step": "long", "url": f"http://{executor.address}/long"}])
    run = standalone.api.enqueue("hand")
    url = until(lambda: executor.of("/long") and executor.of("/long")[0]["headers"]["X-Carillon-Callback"], what="the call")
    assert requests.post(url + "/logs", data=b"\xe8\xa1\x8c\nbad \xff\n", timeout=5).json() == {"report": "noted", "canceled": False, "full": False}
    assert requests.post(url + "/logs", data=b"a\0b\nafter it\n", timeout=5).ok
    assert [i["text"] for i in standalone.api.get(f"/projects/default/runs/{run}/logs")["items"]] == ["行", "bad ?", "a?b", "after it"]
    assert requests.post(url + "/logs", data=b"\x1b[2J\x1b]0;x\x07\tred\xc2\x9bm\n", timeout=5).ok
    shown = subprocess.run([BINARY, "logs", run, "--url", standalone.url, "--token", standalone.token], capture_output=True, check=True, timeout=30).stdout
    assert shown.endswith(b"?[2J?]0;x?\tred??m\n"), "a log does not rule the terminal of who reads it"
    assert requests.post(url[:-2] + "xx/logs", data=b"x", timeout=5).status_code == 410
    assert requests.post(url + "/logs", data=b"x" * 300000, timeout=5).status_code == 413
    for bad in ("1s", "2d", "soon"):
        assert requests.post(url, json={"state": "running", "within": bad}, timeout=5).status_code == 400
    assert requests.post(url, json={"state": "succeeded", "result": 1}, timeout=5).ok
    assert standalone.api.ended(run)["state"] == "succeeded"
    assert requests.post(url, json={"state": "running"}, timeout=5).status_code == 409
