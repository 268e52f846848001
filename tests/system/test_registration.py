"""Instances that announce themselves: over HTTP by the library and by hand, signed; found within a second, gone without a sign of life."""
import base64
import hashlib
import hmac
import subprocess
import time
from urllib.parse import quote

import pytest
import requests

from harness import BINARY, until
from test_executor_lib import Example


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


def key_of(standalone, app):
    return standalone.api.get(f"/projects/default/apps/{app}/key")["key"]


def signed(key, verb, app, address, body, at=None):
    at, ident = str(int(at or time.time())), f"{verb}:default/{app}/{address}:{time.time_ns()}"
    mac = hmac.new(base64.b64decode(key[6:]), f"{ident}.{at}.".encode() + body, hashlib.sha256).digest()
    return {"Webhook-Id": ident, "Webhook-Timestamp": at, "Webhook-Signature": "v1," + base64.b64encode(mac).decode()}


def put(standalone, app, address, body, headers, method="PUT"):
    return requests.request(method, f"{standalone.url}/api/v1/projects/default/apps/{app}/instances/{quote(address)}", data=body, headers=headers, timeout=10)


def instances(standalone, app):
    return [i["address"] for i in standalone.api.get(f"/projects/default/apps/{app}/instances")["items"]]


def test_by_the_library(standalone, example):
    key = subprocess.run([BINARY, "application-key", "rest", "--url", standalone.url, "--token", standalone.token], capture_output=True, text=True, check=True).stdout.strip()
    assert key == key_of(standalone, "rest")
    first = example("broadcast-executor", "--servers", f"http://127.0.0.1:1,{standalone.url}", "--application", "rest", "--key", key)
    until(lambda: standalone.api.call("GET", "/projects/default/apps/rest", ok=False).ok, what="the application made by its registration")
    document = standalone.api.get("/projects/default/apps/rest")
    assert [(t["name"], t["path"]) for t in document["spec"]["tasks"]] == [("reload", "/reload"), ("share", "/share")]
    until(lambda: instances(standalone, "rest"), what="its instance")
    listed = standalone.api.get("/projects/default/apps/rest/instances")["items"]
    assert [(i["address"], i["source"]) for i in listed] == [(f"127.0.0.1:{first.port}", "http")]
    standalone.api.job("sum", [{"step": "sum", "task": "rest/share"}])
    begin = time.monotonic()
    run = standalone.api.enqueue("sum")
    assert standalone.api.ended(run)["state"] == "succeeded" and time.monotonic() - begin < 3
    second = example("broadcast-executor", "--servers", standalone.url, "--application", "rest", "--key", key)
    until(lambda: len(instances(standalone, "rest")) == 2, what="the second one")
    time.sleep(1)
    used = {standalone.api.ended(standalone.api.enqueue("sum"))["steps"][0]["attempts"][0]["instance"] for _ in range(4)}
    assert used == {f"127.0.0.1:{first.port}", f"127.0.0.1:{second.port}"}
    standalone.api.job("parts", [{"step": "share", "task": "rest/share", "routing": "shard", "shards": 4}, {"step": "all", "task": "rest/reload", "routing": "broadcast", "after": ["share"]}])
    parts = standalone.api.ended(standalone.api.enqueue("parts"))
    assert parts["state"] == "succeeded", parts
    assert first.stop() == 0
    until(lambda: instances(standalone, "rest") == [f"127.0.0.1:{second.port}"], 5, what="the first one to leave at once")
    time.sleep(0.8)
    attempts = [standalone.api.ended(standalone.api.enqueue("sum"))["steps"][0]["attempts"] for _ in range(3)]
    assert all(len(a) == 1 and a[0]["instance"].endswith(str(second.port)) for a in attempts), "nobody is called who has left"


def test_a_run_waits_for_the_first_instance(standalone, executor):
    standalone.api.put("/projects/default/apps/late", {"spec": {"tasks": [{"name": "go", "path": "/go"}]}})
    standalone.api.job("late", [{"step": "go", "task": "late/go"}])
    run = standalone.api.enqueue("late")
    until(lambda: standalone.api.run(run)["steps"][0].get("reason") == "no_instance", what="the reason")
    body = b'{"tasks":[{"path":"/go"},{"path":"/more"}],"version":"1.2"}'
    answer = put(standalone, "late", executor.address, body, signed(key_of(standalone, "late"), "register", "late", executor.address, body))
    assert answer.status_code == 200 and answer.json()["new"] is True and "/more" in answer.json()["warning"], answer.text
    begin = time.monotonic()
    assert standalone.api.ended(run)["state"] == "succeeded" and time.monotonic() - begin < 2
    assert [t["path"] for t in standalone.api.get("/projects/default/apps/late")["spec"]["tasks"]] == ["/go"], "people's documents stay theirs"
    assert standalone.api.get("/projects/default/apps/late/instances")["items"][0]["version"] == "1.2"


def test_who_may_announce(standalone):
    body, key, other = b'{"tasks":[{"path":"/a/B"},{"path":"/a-b"}]}', key_of(standalone, "web"), key_of(standalone, "db")
    address = "10.0.0.7:80"
    good = signed(key, "register", "web", address, body)
    wrong = [{}, signed(other, "register", "web", address, body), signed(key, "register", "web", "10.0.0.8:80", body), signed(key, "leave", "web", address, body),
             signed(key, "register", "web", address, body, time.time() - 400), signed(key, "register", "web", address, b"{}")]
    for headers in wrong:
        answer = put(standalone, "web", address, body, headers)
        assert answer.status_code == 401 and answer.json()["error"]["code"] == "AUTH_UNAUTHORIZED_003", answer.text
    assert put(standalone, "web", "nonsense", body, signed(key, "register", "web", "nonsense", body)).status_code == 400
    assert put(standalone, "web", address, body, good).json()["new"] is True
    assert put(standalone, "web", address, body, good).json()["new"] is False, "a renewal"
    names = [t["name"] for t in standalone.api.get("/projects/default/apps/web")["spec"]["tasks"]]
    assert names[0] == "a-b" and names[1].startswith("a-b-") and len(names) == 2
    more = b'{"tasks":[{"path":"/a/B"},{"path":"/new","serial":true,"async":true,"description":"\\u65b0"}]}'
    assert put(standalone, "web", address, more, signed(key, "register", "web", address, more)).json()["new"] is True
    added = standalone.api.get("/projects/default/apps/web")["spec"]["tasks"][2]
    assert (added["name"], added["serial"], added["async"], added["description"]) == ("new", True, True, "新")
    assert put(standalone, "web", address, b"", signed(key, "leave", "web", address, b""), "DELETE").ok
    assert instances(standalone, "web") == []
    by_token = put(standalone, "web", address, body, {"Authorization": f"Bearer {standalone.token}"})
    assert by_token.ok and instances(standalone, "web") == [address]
    assert put(standalone, "web", address, body, {"Authorization": "Bearer cr_nobody"}).status_code == 401
    assert requests.get(f"{standalone.url}/api/v1/projects/default/apps/web/key", timeout=5).status_code == 401
