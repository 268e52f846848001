"""Long work: accepted with 202, ended by a report; before the 202, twice, too late, after a kill, with the wrong token, after a cancel."""
import threading

import pytest
import requests

from harness import Standalone, until

ACCEPTED = (202, {"status": "accepted"})


def callback(executor, path="/long", n=0):
    call = until(lambda: len(executor.of(path)) > n and executor.of(path)[n], what=f"call of {path}")
    return call["headers"]["X-Carillon-Callback"]


def report(url, **body):
    return requests.post(url, json=body, timeout=20)


def attempt(api, run, step="long"):
    attempts = [s for s in api.run(run)["steps"] if s["step"] == step][0]["attempts"]
    return attempts[-1] if attempts else None


@pytest.fixture
def long_job(standalone, executor):
    """A job whose first step is accepted; the second reads its result."""
    executor.behave["/long"] = lambda call: ACCEPTED
    url = f"http://{executor.address}"
    standalone.api.job("job", [{"step": "long", "url": f"{url}/long"},
                               {"step": "next", "url": f"{url}/next", "params": {"rows": "${steps.long.result.rows}"}, "after": ["long"]}])
    return standalone.api


def accepted(api, run):
    return until(lambda: (a := attempt(api, run)) and a["state"] == "accepted", what="the 202 to be stored")


def test_accepted_then_reported(long_job, standalone, executor):
    run = long_job.enqueue("job")
    url = callback(executor)
    assert url.startswith(standalone.url + "/api/v1/report/" + run + "/long/0/1/")
    accepted(long_job, run)
    alive = report(url, state="running", progress=40, message="half of it")
    assert alive.status_code == 200 and alive.json() == {"report": "noted", "canceled": False}
    assert long_job.run(run)["state"] == "running"
    assert report(url, state="succeeded", result={"rows": 18446744073709551616}).json()["report"] == "stored"
    assert long_job.ended(run)["state"] == "succeeded"
    assert executor.of("/next")[0]["body"] == b'{"rows":18446744073709551616}'
    end = attempt(long_job, run)
    assert (end["state"], end["class"], end["http_status"], end["response"]) == ("ended", "success", 202, '{"status": "accepted"}')


def test_failure_keeps_the_executors_code(long_job, executor):
    run = long_job.enqueue("job")
    assert report(callback(executor), state="failed", code="LEDGER_7", message="no such day").status_code == 200
    ended = long_job.ended(run)
    assert ended["state"] == "failed" and ended["error"]["code"] == "LEDGER_7"
    assert attempt(long_job, run)["error"] == "no such day"


def test_before_the_202(long_job, executor):
    arrived, go = threading.Event(), threading.Event()

    def slow(_):
        arrived.set()
        go.wait(20)
        return ACCEPTED

    executor.behave["/long"] = slow
    run = long_job.enqueue("job")
    assert arrived.wait(20)
    assert report(callback(executor), state="succeeded", result={"rows": 5}).json()["report"] == "stored"
    assert long_job.ended(run)["state"] == "succeeded"
    go.set()
    until(lambda: "answered" in executor.of("/long")[0], what="the 202")
    assert len(executor.of("/long")) == 1 and long_job.run(run)["state"] == "succeeded"
    assert attempt(long_job, run)["class"] == "success"


def test_repeated_and_too_late(long_job, executor):
    run = long_job.enqueue("job")
    url = callback(executor)
    body = {"state": "succeeded", "result": {"rows": 1}}
    assert report(url, **body).json()["report"] == "stored"
    assert report(url, **body).status_code == 200
    assert long_job.ended(run)["state"] == "succeeded"
    again = report(url, **body)
    assert again.status_code == 200 and again.json()["report"] == "repeated"
    for late in ({"state": "failed", "code": "X"}, {"state": "succeeded", "result": {"rows": 2}}, {"state": "running"}):
        answer = report(url, **late)
        assert answer.status_code == 409 and answer.json()["error"]["code"] == "SCHEDULING_CONFLICT_005", answer.text
    assert long_job.run(run)["state"] == "succeeded" and len(executor.of("/next")) == 1


def test_after_the_time_out(standalone, executor):
    executor.behave["/long"] = lambda call: ACCEPTED
    standalone.api.job("short", [{"step": "long", "url": f"http://{executor.address}/long", "timeout": "1s"}])
    run = standalone.api.enqueue("short")
    ended = standalone.api.ended(run)
    assert ended["state"] == "failed" and attempt(standalone.api, run)["class"] == "timeout"
    assert report(callback(executor), state="succeeded").status_code == 409
    assert standalone.api.run(run)["state"] == "failed"


def test_wrong_token(long_job, standalone, executor):
    run = long_job.enqueue("job")
    url = callback(executor)
    head, token = url.rsplit("/", 1)
    wrong = [head + "/" + ("A" if token[0] != "A" else "B") + token[1:], head + "/" + token[:-1], url.replace("/0/1/", "/0/2/"),
             url.replace(run, str(int(run) + 1)), f"{standalone.url}/api/v1/report/x/long/0/1/{token}"]
    for address in wrong:
        answer = report(address, state="succeeded")
        assert answer.status_code == 410 and answer.json()["error"]["code"] == "SCHEDULING_NOTFOUND_005", address
    for bad in (b"", b"[]", b'{"state":"done"}', b'{"state":"succeeded"', b'{"state":"running","progress":101}'):
        assert requests.post(url, data=bad, timeout=20).status_code == 400, bad
    assert report(url, state="succeeded", result="x" * 70000).status_code == 413
    assert long_job.run(run)["state"] == "running"
    assert report(url, state="succeeded", result={"rows": 1}).status_code == 200
    assert long_job.ended(run)["state"] == "succeeded"


def test_delay_calls_again(long_job, executor):
    run = long_job.enqueue("job")
    assert report(callback(executor), state="delay", after="1s").status_code == 200
    second = callback(executor, n=1)
    first, then = executor.of("/long")[:2]
    assert then["at"] - first["at"] >= 1 and first["key"] != then["key"]
    assert report(second, state="succeeded", result={"rows": 3}).status_code == 200
    assert long_job.ended(run)["state"] == "succeeded"


def test_killed_between_202_and_report(tmp_path, executor):
    server = Standalone(tmp_path / "data").start()
    executor.behave["/long"] = lambda call: ACCEPTED
    server.api.job("job", [{"step": "long", "url": f"http://{executor.address}/long"}])
    run = server.api.enqueue("job")
    url = callback(executor)
    accepted(server.api, run)
    server.kill()
    server.start()
    assert report(url, state="succeeded", result=[1]).json()["report"] == "stored"
    assert server.api.ended(run)["state"] == "succeeded"
    assert len(executor.of("/long")) == 1
    server.stop()


def test_cancel_tells_the_executor(long_job, executor):
    run = long_job.enqueue("job")
    url = callback(executor)
    accepted(long_job, run)
    long_job.post(f"/projects/default/runs/{run}/cancel")
    assert long_job.ended(run)["state"] == "canceled"
    alive = report(url, state="running")
    assert alive.status_code == 200 and alive.json()["canceled"] is True
    late = report(url, state="succeeded", result={"rows": 1})
    assert late.status_code == 409 and late.json()["error"]["args"]["canceled"] == "true"
    assert long_job.run(run)["state"] == "canceled"


def test_public_url_is_what_executors_are_told(tmp_path, executor):
    server = Standalone(tmp_path / "data", "--set", "server.public_url=https://jobs.example/").start()
    executor.behave["/long"] = lambda call: ACCEPTED
    server.api.job("job", [{"step": "long", "url": f"http://{executor.address}/long"}])
    run = server.api.enqueue("job")
    url = callback(executor)
    assert url.startswith("https://jobs.example/api/v1/report/")
    assert report(url.replace("https://jobs.example", server.url), state="succeeded").status_code == 200
    assert server.api.ended(run)["state"] == "succeeded"
    server.stop()
