"""A process that dies exactly around its calls, and addresses that nobody may call. (Servers that misbehave: test_endpoints.py.)"""
import contextlib
import os
import signal
import threading

import pytest

from harness import Standalone, until

@pytest.mark.parametrize("moment", ["asked", "answered"])
def test_killed_around_a_call(tmp_path, executor, moment):
    """The executor kills the scheduler when the request is there, or right after it answered."""
    server = Standalone(tmp_path / "data").start()
    server.api.job("chain", [{"step": s, "url": f"http://{executor.address}/{s}", **({"after": [a]} if a else {})}
                             for s, a in (("a", None), ("b", "a"), ("c", "b"))])
    server.api.job("once", [{"step": "a", "url": f"http://{executor.address}/once", "repeat": "never"}])
    victims, armed = {"/a": 1, "/b": 1, "/c": 1, "/once": 1}, threading.Event()

    def behave(call):
        path = call["path"]
        armed.wait(5)
        if victims.get(path):
            victims[path] -= 1
            if moment == "asked":
                os.kill(server.process.pid, signal.SIGKILL)
            else:
                threading.Timer(0.002, os.kill, (server.process.pid, signal.SIGKILL)).start()
        return {"status": "success", "result": path}

    for path in victims:
        executor.behave[path] = behave
    run, once = server.api.enqueue("chain"), server.api.enqueue("once")
    armed.set()
    for _ in range(20):
        with contextlib.suppress(AssertionError):  # alive for a while, or killed once more
            until(lambda: server.process.poll() is not None, 1.5)
        if server.process.poll() is None:
            break
        with contextlib.suppress(AssertionError):  # killed before it was ready
            server.start()
    detail = server.api.ended(run, 30)
    assert detail["state"] == "succeeded", detail
    for step in detail["steps"]:
        keys = {c["key"] for c in executor.of("/" + step["step"])}
        assert len(keys) == 1, f"step {step['step']} was sent under {keys}"
    detail, calls = server.api.ended(once, 30), executor.of("/once")
    assert len(calls) <= 1, "a task that may not be repeated was called again"
    assert detail["state"] in ("lost", "succeeded") and (calls or detail["state"] == "lost"), detail
    server.stop()


SSRF = ["http://169.254.169.254/", "http://[fd00:ec2::254]/", "http://0.0.0.0:PORT/", "http://0:PORT/", "http://2852039166/", "http://0xA9FEA9FE/",
        "http://0251.0376.0251.0376/", "http://169.254.43518/", "http://[::ffff:169.254.169.254]/", "http://[64:ff9b::a9fe:a9fe]/",
        "http://[::]:PORT/", "http://[fe80::1]/", "http://224.0.0.1/", "http://255.255.255.255/", "http://100.100.100.200/",
        "http://127.0.0.1:PORT/healthz", "http://localhost:PORT/healthz", "http://127.1:PORT/healthz", "http://[::ffff:127.0.0.1]:PORT/",
        "http://2130706433:PORT/", "http://0177.0.0.1:PORT/"]


def test_addresses_that_nobody_may_call(standalone):
    api = standalone.api
    runs = []
    for n, url in enumerate(SSRF):
        api.job(f"ssrf{n}", [{"step": "a", "url": url.replace("PORT", str(standalone.port)), "method": "GET", "wait_timeout": "0s", "timeout": "3s"}])
        runs.append((url, api.enqueue(f"ssrf{n}")))
    for url, run in runs:
        attempts = api.ended(run)["steps"][0]["attempts"]
        assert [a["class"] for a in attempts] == ["not_sent"] and "refused: it is" in attempts[0]["error"], (url, attempts)
        assert attempts[0]["bytes_sent"] == 0


def test_computed_host_that_is_down_holds_nobody_up(standalone, executor):
    """A host of params that cannot be reached says nothing about the host of the next run."""
    api = standalone.api
    api.job("dyn", [{"step": "a", "url": "http://${params.host}/dyn", "wait_timeout": "0s"}], overlap="allow", max_parallel=10)
    for host, state in (("127.0.0.1:1", "failed"), (executor.address, "succeeded"), ("169.254.169.254", "failed"), (executor.address, "succeeded")):
        item = api.post("/projects/default/jobs:enqueue", {"names": ["dyn"], "params": {"host": host}})["items"][0]
        detail = api.ended(item["result"]["run"])
        assert detail["state"] == state, (host, detail["error"])
    item = api.post("/projects/default/jobs:enqueue", {"names": ["dyn"], "params": {"host": "h\r\nX-Evil: 1"}})["items"][0]
    assert "control character" in str(api.ended(item["result"]["run"])["error"])
