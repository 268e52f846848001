"""The clients of other languages (sdk/), each by the same test against the real server: registration, signature, keys, serial guard, long work."""
import base64
import os
import shutil
import signal
import subprocess
import threading
import time

import pytest
import requests

from harness import free_port, until
from test_executor_lib import reports, signed
from test_registration import instances, key_of

SDK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../sdk")


def needs(*tools):
    return pytest.mark.skipif(not all(shutil.which(t) for t in tools), reason=f"{' '.join(tools)} is not on this machine")


CLIENTS = [pytest.param("python"), pytest.param("node", marks=needs("node")), pytest.param("go", marks=needs("go")),
           pytest.param("java", marks=needs("java", "javac"))]


@pytest.fixture(scope="session")
def commands(tmp_path_factory):
    """How each example is started; what has to be built is built once."""
    built = {"python": ["/usr/bin/python3", f"{SDK}/python/example.py"], "node": ["node", f"{SDK}/node/example.js"]}

    def command(name):
        if name not in built:
            out = tmp_path_factory.mktemp(name)
            if name == "go":
                subprocess.run(["go", "build", "-o", out / "example", "./example"], cwd=f"{SDK}/go", check=True,
                               env={**os.environ, "GOFLAGS": "-mod=mod", "GOPROXY": "off",
                                    "GOCACHE": os.environ.get("GOCACHE", os.path.expanduser("~/.cache/go-build"))})
                built[name] = [str(out / "example")]
            else:
                sources = [os.path.join(d, f) for d, _, files in os.walk(f"{SDK}/java") for f in files if f.endswith(".java")]
                subprocess.run(["javac", "-Xlint:all", "-Werror", "-d", str(out), *sources], check=True)
                built[name] = ["java", "-XX:TieredStopAtLevel=1", "-cp", str(out), "Example"]
        return built[name]

    return command


@pytest.fixture
def client(commands):
    made = []

    def start(name, *args):
        port = free_port()
        process = subprocess.Popen([*commands(name), f"127.0.0.1:{port}", *args])
        made.append(process)
        url = f"http://127.0.0.1:{port}"

        def up():
            assert process.poll() is None
            try:
                return requests.get(url + "/healthz", timeout=1).ok
            except requests.RequestException:
                return False

        until(up, 20, f"the {name} example")
        return process, url

    yield start
    for process in made:
        if process.poll() is None:
            process.kill()


@pytest.mark.parametrize("name", CLIENTS)
def test_by_itself(name, client, executor):
    process, url = client(name)
    post = lambda path, body=None, **headers: requests.post(url + path, json=body or {}, headers={k.replace("_", "-"): v for k, v in headers.items()}, timeout=20)
    assert [(t["path"], t["serial"], t["async"]) for t in requests.get(url + "/healthz", timeout=5).json()["tasks"]] == [
        ("/greet", False, False), ("/count", True, False), ("/long", False, True)]
    greeted = post("/greet", {"name": "世界"}, X_Carillon_Step="say").json()
    assert greeted == {"status": "success", "result": {"hello": "世界", "step": "say"}}
    failed = post("/greet", {"fail": True}).json()
    assert (failed["status"], failed["code"], failed["message"]) == ("failure", "NO_NAME", "who is it?")
    assert post("/nope").status_code == 404 and requests.get(url + "/greet", timeout=5).status_code == 405
    assert requests.post(url + "/greet", data=b"{broken", timeout=5).status_code == 400
    # one at a time; a repeated key gets the first answer, joins one in progress
    answers = []
    threads = [threading.Thread(target=lambda k=k: answers.append(post("/count", Idempotency_Key=k))) for k in ("1.c.0.1", "1.c.0.1", "2.c.0.1")]
    for t in threads:
        t.start()
        time.sleep(0.05)
    for t in threads:
        t.join()
    assert sorted(a.status_code for a in answers) == [200, 200, 429] and [a.json()["result"] for a in answers if a.ok] == [{"count": 1}] * 2
    again = post("/count", Idempotency_Key="1.c.0.1")
    assert again.json()["result"] == {"count": 1} and again.headers["Idempotency-Replayed"] == "true"
    assert post("/count", {"x": 1}, Idempotency_Key="1.c.0.1").status_code == 422
    assert post("/greet", {"delay": True}, Idempotency_Key="3.g.0.1").json() == {"status": "delay", "after": "1s"}
    assert post("/greet", {"name": "x"}, Idempotency_Key="3.g.0.1").status_code == 200, "a delay is not remembered"
    assert post("/greet", X_Carillon_Run="9", X_Carillon_Epoch="5").ok
    assert post("/greet", X_Carillon_Run="9", X_Carillon_Epoch="4").status_code == 409
    # long work
    executor.behave["/cb"] = lambda call: (503, {}) if b"succeeded" in call["body"] and not reports(executor, "succeeded")[1:] else {"canceled": False}
    callback = f"http://127.0.0.1:1/gone, http://{executor.address}/cb"
    accepted = post("/long", {"seconds": 1}, Idempotency_Key="4.l.0.1", X_Carillon_Callback=callback)
    assert accepted.status_code == 202 and accepted.json() == {"status": "accepted"}
    assert requests.get(url + accepted.headers["Location"], timeout=5).json()["state"] == "running"
    assert post("/long", {"seconds": 1}, Idempotency_Key="4.l.0.1", X_Carillon_Callback=callback).status_code == 202
    until(lambda: len(reports(executor, "succeeded")) >= 2, what="the end, again after a 503")
    assert reports(executor, "succeeded")[-1]["result"] == {"pages": 2} and any(r.get("message", "").startswith("page ") for r in reports(executor, "running"))
    assert b"".join(c["body"] for c in executor.of("/cb/logs")).decode().splitlines() == ["page 1", "page 2"]
    for key, cancel in (("5.l.0.1", lambda where: requests.delete(url + where, timeout=5)), ("6.l.0.1", lambda _: post("/long/cancel", X_Carillon_Run="6", X_Carillon_Step="l"))):
        before = len(reports(executor, "failed"))
        where = post("/long", {"seconds": 60}, Idempotency_Key=key, X_Carillon_Run=key[0], X_Carillon_Step="l", X_Carillon_Callback=callback).headers["Location"]
        assert cancel(where).ok
        until(lambda: len(reports(executor, "failed")) > before, what="the canceled end")
        assert reports(executor, "failed")[-1]["code"] == "CANCELED"
    process.send_signal(signal.SIGTERM)
    process.wait(15)


@pytest.mark.parametrize("name", CLIENTS)
def test_with_the_server(name, client, standalone):
    key = key_of(standalone, name)
    process, url = client(name, standalone.url, key)
    until(lambda: standalone.api.call("GET", f"/projects/default/apps/{name}", ok=False).ok and instances(standalone, name), what="its registration")
    body = b'{"name":"x"}'
    assert requests.post(url + "/greet", data=body, timeout=5).status_code == 401
    other = "whsec_" + base64.b64encode(b"nobody's key").decode()
    assert requests.post(url + "/greet", data=body, headers=signed(other, body, "k1"), timeout=5).status_code == 401
    assert requests.post(url + "/greet", data=body, headers={**signed(key, body, "k2"), "Idempotency-Key": "k3"}, timeout=5).status_code == 401
    assert requests.post(url + "/greet", data=body, headers=signed(key, body, "k4"), timeout=5).ok
    standalone.api.job("all", [{"step": "greet", "task": f"{name}/greet", "params": {"name": "${run.id}"}},
                               {"step": "long", "task": f"{name}/long", "params": {"seconds": 1}, "after": ["greet"]},
                               {"step": "count", "task": f"{name}/count", "params": {"pages": "${steps.long.result.pages}"}, "after": ["long"]}])
    ended = standalone.api.ended(standalone.api.enqueue("all"))
    assert ended["state"] == "succeeded", ended
    process.send_signal(signal.SIGTERM)
    process.wait(15)
    assert instances(standalone, name) == [], "it took its name off"
