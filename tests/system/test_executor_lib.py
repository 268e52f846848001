"""libcarillon-executor through its examples: answers, guards, keys over kill -9, long work, signatures, installation."""
import base64
import contextlib
import hashlib
import hmac
import json
import os
import re
import signal
import subprocess
import threading
import time

import pytest
import requests

from harness import BINARY, free_port, until

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.dirname(BINARY)


KEY = "whsec_" + base64.b64encode(b"a key of thirty-two bytes, or so").decode()
OLD_KEY = "whsec_" + base64.b64encode(b"the one that was in use before it").decode()


class Example:
    """One of examples/, on a free port."""

    def __init__(self, name, *args, env=None, port=None):
        self.port = port or free_port()
        self.url, self.command, self.env = f"http://127.0.0.1:{self.port}", [os.path.join(BUILD, name), f"127.0.0.1:{self.port}", *args], env or {}
        self.process = None

    def start(self):
        self.process = subprocess.Popen(self.command, env={**os.environ, **self.env})
        until(self.up, 10, self.command[0])
        return self

    def up(self):
        assert self.process.poll() is None, f"{self.command} ended with {self.process.returncode}"
        with contextlib.suppress(requests.RequestException):
            return requests.get(self.url + "/healthz", timeout=1).ok
        return False

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)

    def post(self, path, body=None, headers=None, **kw):
        return requests.post(self.url + path, json={} if body is None else body, headers=headers, timeout=20, **kw)


@pytest.fixture
def example():
    made = []

    def make(name, *args, **kw):
        made.append(Example(name, *args, **kw).start())
        return made[-1]

    yield make
    for e in made:
        if e.process.poll() is None:
            e.kill()


@pytest.fixture
def shop(example):
    e = example("shop-executor")
    yield e.url
    assert e.stop() == 0


def test_answers_and_refusals(shop):
    tasks = {t["path"] for t in requests.get(shop + "/healthz", timeout=5).json()["tasks"]}
    assert tasks == {"/orders", "/rates", "/stock", "/post", "/mail"}
    answer = requests.post(shop + "/stock", json={}, timeout=5).json()
    assert answer["status"] == "success" and answer["result"]["empty"] == ["紅茶", "コーヒー"]
    failure = requests.post(shop + "/post", json={}, timeout=5).json()
    assert failure["status"] == "failure" and failure["code"] == "NO_TOTAL"
    assert requests.post(shop + "/nope", json={}, timeout=5).status_code == 404
    assert requests.get(shop + "/stock", timeout=5).status_code == 405
    assert requests.post(shop + "/stock", data=b"{broken", timeout=5).status_code == 400


def test_a_repeated_key_gets_the_first_answer(shop):
    first = requests.post(shop + "/mail", json={}, headers={"Idempotency-Key": "1.mail.0.1"}, timeout=5)
    again = [requests.post(shop + "/mail", json={}, headers={"Idempotency-Key": "1.mail.0.1"}, timeout=5) for _ in range(5)]
    assert all(a.json() == first.json() for a in again) and again[0].headers["Idempotency-Replayed"] == "true"
    clash = requests.post(shop + "/mail", json={"other": 1}, headers={"Idempotency-Key": "1.mail.0.1"}, timeout=5)
    assert clash.status_code == 422


def test_a_key_in_progress_is_joined(shop):
    answers = []

    def call():
        answers.append(requests.post(shop + "/rates", json={}, headers={"Idempotency-Key": "1.rates.0.1"}, timeout=10))

    begin = time.monotonic()
    threads = [threading.Thread(target=call) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len({a.text for a in answers}) == 1 and time.monotonic() - begin < 1.9, "one slow call served three"


def test_a_key_outlives_kill_9(example, tmp_path):
    counted = tmp_path / "count"
    e = example("serial-executor", "--idempotency-dir", str(tmp_path / "keys"), env={"COUNT_FILE": str(counted)})
    first = e.post("/count", headers={"Idempotency-Key": "7.count.0.1"})
    assert first.json()["result"] == {"count": 1}
    e.kill()
    e.start()
    again = e.post("/count", headers={"Idempotency-Key": "7.count.0.1"})
    assert again.json() == first.json() and again.headers["Idempotency-Replayed"] == "true"
    assert counted.read_text() == "1\n", "one effect"
    assert e.post("/count", {"other": 1}, headers={"Idempotency-Key": "7.count.0.1"}).status_code == 422
    assert e.post("/count", headers={"Idempotency-Key": "7.count.0.2"}).json()["result"] == {"count": 2}
    second = subprocess.run([*e.command[:1], "127.0.0.1:0", "--idempotency-dir", str(tmp_path / "keys")], capture_output=True, text=True, timeout=20)
    assert second.returncode == 1 and "in use by another process" in second.stderr


def test_serial_refuses_the_second(example, tmp_path):
    e = example("serial-executor", env={"COUNT_FILE": str(tmp_path / "count")})
    answers = []
    threads = [threading.Thread(target=lambda n=n: answers.append(e.post("/count", headers={"Idempotency-Key": f"{n}.count.0.1"}))) for n in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    busy = [a for a in answers if a.status_code == 429]
    done = [a.json()["result"]["count"] for a in answers if a.ok]
    assert len(busy) + len(done) == 6 and busy and sorted(done) == list(range(1, len(done) + 1))
    assert busy[0].headers["Retry-After"] == "1" and busy[0].json()["code"] == "BUSY"


def test_epochs(shop):
    def call(epoch, n):
        return requests.post(shop + "/stock", json={}, timeout=5, headers={"X-Carillon-Run": "9", "X-Carillon-Epoch": str(epoch), "Idempotency-Key": f"9.s.0.{n}"})
    assert call(4, 1).ok and call(6, 2).ok
    stale = call(5, 3)
    assert stale.status_code == 409 and stale.json()["code"] == "STALE_EPOCH"
    assert call(6, 4).ok


def signed(key, body, ident, at=None):
    """Standard Webhooks, written from its text."""
    at = str(int(at or time.time()))
    mac = hmac.new(base64.b64decode(key[len("whsec_"):]), f"{ident}.{at}.".encode() + body, hashlib.sha256).digest()
    return {"Webhook-Id": ident, "Webhook-Timestamp": at, "Webhook-Signature": "v1," + base64.b64encode(mac).decode(), "Content-Type": "application/json"}


def test_signatures(example):
    e = example("broadcast-executor", "--key", f"{KEY} {OLD_KEY}")

    def call(headers, body=b'{"a":1}'):
        return requests.post(e.url + "/reload", data=body, headers=headers, timeout=5)

    body = b'{"a":1}'
    assert call(signed(KEY, body, "k1")).ok and call(signed(OLD_KEY, body, "k2")).ok
    both = signed(KEY, body, "k3")
    both["Webhook-Signature"] = "v1,AAAA " + both["Webhook-Signature"]
    assert call(both).ok, "one of several is enough"
    other = "whsec_" + base64.b64encode(b"nobody's key").decode()
    wrong = [signed(other, body, "k4"), signed(KEY, body, "k5", time.time() - 400), signed(KEY, body, "k6", time.time() + 400),
             {**signed(KEY, body, "k7"), "Webhook-Id": "k8"}, {**signed(KEY, body, "k9"), "Idempotency-Key": "k10"}, {}]
    for headers in wrong:
        answer = call(headers)
        assert answer.status_code == 401 and answer.json()["code"] == "SIGNATURE", headers
    assert call(signed(KEY, body, "k11"), b'{"a":2}').status_code == 401
    assert requests.get(e.url + "/healthz", timeout=5).ok


def test_callers(example):
    e = example("broadcast-executor", "--callers", "10.1.2.3,127.0.0.2")
    refused = e.post("/reload")
    assert refused.status_code == 403 and "127.0.0.1" in refused.json()["message"]


# ---- long work --------------------------------------------------------------------------------------------------------------


def reports(server, kind=None):
    bodies = [json.loads(c["body"]) for c in server.of("/cb")]
    return [b for b in bodies if kind is None or b["state"] == kind]


def accepted(e, server, key, seconds, url="/cb", status=202):
    answer = e.post("/report", {"seconds": seconds}, {"Idempotency-Key": key, "X-Carillon-Run": key.split(".")[0], "X-Carillon-Step": key.split(".")[1],
                                                      "X-Carillon-Callback": f"http://{server.address}{url}"})
    assert answer.status_code == status and answer.json() == {"status": "accepted"}, answer.text
    return e.url + answer.headers["Location"]


def test_long_work_is_reported(example, executor):
    e = example("long-executor")
    executor.behave["/cb"] = lambda call: {"report": "stored", "canceled": False}
    begin = time.monotonic()
    where = accepted(e, executor, "1.long.0.1", 2)
    assert time.monotonic() - begin < 1
    state = until(lambda: (s := requests.get(where, timeout=5).json()).get("progress", 0) >= 25 and s, what="progress")
    assert state["state"] == "running" and state["message"].startswith("page ")
    assert accepted(e, executor, "1.long.0.1", 2) == where, "a repeated key joins"
    assert e.post("/report", {"seconds": 3}, {"Idempotency-Key": "1.long.0.1"}).status_code == 422
    end = until(lambda: reports(executor, "succeeded"), what="the end")
    assert end[0]["result"] == {"pages": 4} and len(end) == 1
    steps = [r.get("progress") for r in reports(executor, "running") if "progress" in r]
    assert steps == sorted(steps) and len(set(steps)) >= 2
    lines = b"".join(c["body"] for c in executor.of("/cb/logs")).decode().splitlines()
    assert lines == [f"page {n} of 4" for n in range(1, 5)]
    assert requests.get(where, timeout=5).json() == end[0]
    accepted(e, executor, "1.long.0.1", 2)
    until(lambda: len(reports(executor, "succeeded")) == 2, what="the end is told again to who asks again")
    assert requests.get(e.url + "/carillon/calls/nobody", timeout=5).status_code == 404


def test_the_end_is_sent_until_it_is_acknowledged(example, executor):
    e = example("long-executor")
    executor.behave["/cb"] = lambda call: (503, {}) if len(reports(executor, "succeeded")) < 3 else {"report": "stored", "canceled": False}
    dead = f"http://127.0.0.1:{free_port()}/cb"
    answer = e.post("/report", {"seconds": 0}, {"Idempotency-Key": "2.long.0.1", "X-Carillon-Callback": f"{dead}, http://{executor.address}/cb"})
    assert answer.status_code == 202
    until(lambda: len(reports(executor, "succeeded")) == 3, what="three tries, growing pauses, past a dead address")
    time.sleep(0.5)
    assert len(reports(executor, "succeeded")) == 3
    executor.behave["/cb"] = lambda call: (413, {"error": "too big"}) if b"succeeded" in call["body"] else {"report": "stored", "canceled": False}
    accepted(e, executor, "3.long.0.1", 0)
    failed = until(lambda: reports(executor, "failed"), what="an end that cannot be taken ends as a failure")
    assert failed[0]["code"] == "REPORT_REFUSED" and "413" in failed[0]["message"]


def test_cancel_of_long_work(example, executor):
    e = example("long-executor")
    executor.behave["/cb"] = lambda call: {"report": "noted", "canceled": False}
    where = accepted(e, executor, "4.long.0.1", 30)
    assert requests.delete(where, timeout=5).status_code == 202
    assert until(lambda: reports(executor, "failed"), what="the end")[0]["code"] == "CANCELED"
    assert requests.delete(where, timeout=5).json()["state"] == "failed"
    accepted(e, executor, "5.long.0.1", 30)
    other = e.post("/report/cancel", headers={"X-Carillon-Run": "77", "X-Carillon-Step": "long"})
    assert other.json()["result"] == {"canceled": 0}
    mine = e.post("/report/cancel", headers={"X-Carillon-Run": "5", "X-Carillon-Step": "long"})
    assert mine.json()["result"] == {"canceled": 1}
    until(lambda: len(reports(executor, "failed")) == 2, what="canceled by run and step")
    executor.behave["/cb"] = lambda call: {"report": "noted", "canceled": True}
    accepted(e, executor, "6.long.0.1", 30)
    until(lambda: len(reports(executor, "failed")) == 3, what="canceled by the answer to a sign of life")
    executor.behave["/cb"] = lambda call: (410, {})
    accepted(e, executor, "7.long.0.1", 30)
    until(lambda: len(reports(executor, "failed")) == 4, what="nobody waits any more")


def test_an_end_that_nobody_took_outlives_kill_9(example, executor, tmp_path):
    e = example("long-executor", "--idempotency-dir", str(tmp_path / "keys"))
    executor.behave["/cb"] = lambda call: (503, {})
    accepted(e, executor, "8.long.0.1", 0)
    accepted(e, executor, "9.long.0.1", 30)
    until(lambda: reports(executor, "succeeded"), what="the first try")
    e.kill()
    executor.behave["/cb"] = lambda call: {"report": "stored", "canceled": False}
    before = len(reports(executor, "succeeded"))
    e.start()
    until(lambda: len(reports(executor, "succeeded")) > before, what="told after the restart")
    answer = e.post("/report", {"seconds": 30}, {"Idempotency-Key": "9.long.0.1", "X-Carillon-Callback": f"http://{executor.address}/cb"})
    assert answer.status_code == 202 and "Idempotency-Replayed" not in answer.headers, "it was broken off, so it begins again"
    until(lambda: b"an earlier process was stopped" in b"".join(c["body"] for c in executor.of("/cb/logs")), what="the handler knows")
    assert e.stop() == 0
    assert reports(executor, "failed")[-1]["code"] == "CANCELED", "a stop tells the handler and waits for its end to be taken"


def test_shards(example):
    e = example("broadcast-executor")
    parts = [e.post("/share", headers={"X-Carillon-Shard-Index": str(i), "X-Carillon-Shard-Total": "3"}).json()["result"] for i in range(3)]
    assert [p["shard"] for p in parts] == [0, 1, 2] and sum(p["sum"] for p in parts) == sum(range(100))
    assert e.post("/share").json()["result"] == {"shard": 0, "of": 1, "numbers": 100, "sum": 4950}
    assert e.post("/reload", headers={"X-Carillon-Shard-Index": "1", "X-Carillon-Shard-Total": "2"}).json()["result"]["of"] == 2


# ---- the library as it is installed -----------------------------------------------------------------------------------------


def test_exported_names_are_the_headers():
    library = os.path.join(BUILD, "executor-lib", "libcarillon-executor.so")
    out = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    exported = {line.split()[-1].split("@")[0] for line in out.splitlines()} - {"CARILLON_EXECUTOR_1"}
    with open(os.path.join(HERE, "../../executor-lib/include/carillon/executor.h"), encoding="utf-8") as f:
        header = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    declared = set(re.findall(r"\b(carillon_(?:executor|call)_[a-z_]+)\s*\(", header))
    assert exported == declared


def test_installed(tmp_path):
    """As another program finds it: by pkg-config and by CMake."""
    prefix = tmp_path / "usr"
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, capture_output=True)
    pc = next(prefix.rglob("carillon-executor.pc")).parent
    source = os.path.join(HERE, "../../examples/hello-executor.c")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "carillon-executor"], check=True, capture_output=True, text=True,
                           env={**os.environ, "PKG_CONFIG_PATH": str(pc)}).stdout.split()
    subprocess.run(["cc", source, "-o", tmp_path / "by-pkg-config", *flags, f"-Wl,-rpath,{pc.parent}"], check=True)
    (tmp_path / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.18)\nproject(hello C)\nfind_package(carillon-executor 0 REQUIRED)\n"
                                             f"add_executable(by-cmake {source})\ntarget_link_libraries(by-cmake carillon::executor)\n")
    subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={prefix}"], check=True, capture_output=True)
    subprocess.run(["cmake", "--build", tmp_path / "b"], check=True, capture_output=True)
    for program in (tmp_path / "by-pkg-config", tmp_path / "b/by-cmake"):
        e = Example("hello-executor")
        e.command[0] = str(program)
        e.start()
        assert e.post("/greet").json()["result"] == {"hello": "world"}
        assert e.stop() == 0
