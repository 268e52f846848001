"""libcarillon-executor through its examples: answers, serial guard, idempotency keys, refusals, exported names."""
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


@pytest.fixture
def shop():
    port = free_port()
    process = subprocess.Popen([os.path.join(BUILD, "shop-executor"), f"127.0.0.1:{port}"])
    url = f"http://127.0.0.1:{port}"

    def up():
        try:
            return requests.get(url + "/healthz", timeout=1).ok
        except requests.RequestException:
            return False

    until(up, 10, "the shop's executor")
    yield url
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0


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


def test_exported_names_are_the_headers():
    library = os.path.join(BUILD, "executor-lib", "libcarillon-executor.so")
    out = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    exported = {line.split()[-1].split("@")[0] for line in out.splitlines()} - {"CARILLON_EXECUTOR_1"}
    with open(os.path.join(HERE, "../../executor-lib/include/carillon/executor.h"), encoding="utf-8") as f:
        header = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    declared = set(re.findall(r"\b(carillon_(?:executor|call)_[a-z_]+)\s*\(", header))
    assert exported == declared
