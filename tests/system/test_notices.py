"""An executor that accepted a call is told when nobody waits for it any more: by DELETE of its Location, or at "<task path>/cancel"."""
import threading

import pytest
import requests

from harness import Standalone, until
from test_executor_lib import example, signed  # noqa: F401
from test_registration import key_of
from test_reports import accepted, attempt


def noticed(api, run, state):
    return until(lambda: (a := attempt(api, run)) and a["notice"] == state and a, what=f"the notice to be {state}")


def long_job(api, executor, job="job", **task):
    """Of an application, so that calls are signed with its key."""
    api.put("/projects/default/apps/work", {"spec": {"instances": [executor.address], "tasks": [{"name": "long", "path": "/long", **task}]}})
    api.job(job, [{"step": "long", "task": "work/long"}])


def test_delete_of_the_location(standalone, executor):
    executor.behave["/long"] = lambda call: (202, {"status": "accepted"}, {"Location": "/calls/1"})
    executor.behave["/calls/1"] = lambda call: (202, {"state": "canceled"})
    long_job(standalone.api, executor)
    run = standalone.api.enqueue("job")
    accepted(standalone.api, run)
    assert attempt(standalone.api, run)["notice"] is None
    standalone.api.post(f"/projects/default/runs/{run}/cancel")
    assert standalone.api.ended(run)["state"] == "canceled"
    assert noticed(standalone.api, run, "told")["class"] == "canceled"
    (told,) = executor.of("/calls/1")
    assert told["method"] == "DELETE" and told["body"] == b"" and told["key"] == executor.of("/long")[0]["key"]
    ours = signed(key_of(standalone, "work"), b"", told["key"], int(told["headers"]["Webhook-Timestamp"]))
    assert told["headers"]["Webhook-Signature"] == ours["Webhook-Signature"] and told["headers"]["Webhook-Id"] == told["key"]


@pytest.mark.parametrize("accepts", [True, False])
def test_post_to_the_task(standalone, executor, accepts):
    """Also when the call was still open: closing the connection says nothing to a server that does not look."""
    go = threading.Event()

    def work(_):
        if not accepts:
            go.wait(20)
        return 202, {"status": "accepted"}

    executor.behave["/long"] = work
    long_job(standalone.api, executor, cancel=True)
    run = standalone.api.enqueue("job")
    until(lambda: executor.of("/long"), what="the call")
    if accepts:
        accepted(standalone.api, run)
    standalone.api.post(f"/projects/default/runs/{run}/cancel")
    noticed(standalone.api, run, "told")
    go.set()
    (told,) = executor.of("/long/cancel")
    assert told["method"] == "POST" and told["headers"]["X-Carillon-Run"] == run and told["headers"]["X-Carillon-Step"] == "long"


def test_only_where_calls_may_go(tmp_path, executor):
    """A Location on another host is not followed, and an address that is denied by then is not asked."""
    server = Standalone(tmp_path / "data").start()
    executor.behave["/long"] = lambda call: (202, {"status": "accepted"}, {"Location": "http://127.0.0.1:1/calls/1"})
    long_job(server.api, executor)
    run = server.api.enqueue("job")
    accepted(server.api, run)
    server.api.post(f"/projects/default/runs/{run}/cancel")
    assert server.api.ended(run)["state"] == "canceled" and attempt(server.api, run)["notice"] is None
    executor.behave["/long"] = lambda call: (202, {"status": "accepted"}, {"Location": "/calls/1"})
    long_job(server.api, executor, "other")  # the first one may still be at work, for all we know
    run = server.api.enqueue("other")
    accepted(server.api, run)
    server.kill()
    server.args = (*server.args, "--set", "dispatch.deny=127.0.0.1/32")
    server.start()
    server.api.post(f"/projects/default/runs/{run}/cancel")
    assert server.api.ended(run)["state"] == "canceled"
    noticed(server.api, run, "unreached")
    assert not executor.of("/calls/1")
    server.stop()


@pytest.mark.parametrize("before", ["cancel", "answer"])
def test_killed_in_between(tmp_path, executor, before):
    server = Standalone(tmp_path / "data").start()
    go = threading.Event()

    def slow(_):
        go.wait(20)
        return {"status": "success"}

    executor.behave["/long"] = lambda call: (202, {"status": "accepted"}, {"Location": "/calls/1"})
    executor.behave["/calls/1"] = slow
    long_job(server.api, executor)
    run = server.api.enqueue("job")
    accepted(server.api, run)
    if before == "cancel":
        server.kill()
        server.start()
        go.set()
    server.api.post(f"/projects/default/runs/{run}/cancel")
    assert server.api.ended(run)["state"] == "canceled"
    if before == "answer":
        until(lambda: executor.of("/calls/1"), what="the notice")
        server.kill()
        go.set()
        server.start()
    noticed(server.api, run, "told")
    assert len(executor.of("/calls/1")) == (1 if before == "cancel" else 2)
    server.stop()


def test_the_library_stops(tmp_path, example):  # noqa: F811
    """Its signs of life reach nobody here: it learns of the cancel by the notice alone."""
    server = Standalone(tmp_path / "data", "--set", "server.public_url=http://127.0.0.1:1").start()
    e = example("long-executor")
    server.api.job("job", [{"step": "long", "url": f"{e.url}/report", "params": {"seconds": 60}}])
    run = server.api.enqueue("job")
    accepted(server.api, run)
    key = attempt(server.api, run)["idempotency_key"]

    def state():
        return requests.get(f"{e.url}/carillon/calls/{key}", timeout=5).json()["state"]

    assert state() == "running"
    server.api.post(f"/projects/default/runs/{run}/cancel")
    assert server.api.ended(run)["state"] == "canceled"
    noticed(server.api, run, "told")
    until(lambda: state() == "failed", 5, "the work to stop")
    server.stop()
