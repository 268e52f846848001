"""`carillon check-endpoint`: our library is good, a plain service works with something to mend, a broken one is broken."""
import json
import os
import subprocess

import pytest

from harness import BINARY
from test_executor_lib import KEY, Example


@pytest.fixture
def example():
    made = []

    def make(name, *args, **kw):
        made.append(Example(name, *args, **kw).start())
        return made[-1]

    yield make
    for e in made:
        e.kill()


def check(url, *args, key=None):
    env = {**os.environ, "CARILLON_APPLICATION_KEY": key or ""}
    done = subprocess.run([BINARY, "check-endpoint", url, "--json", *args], capture_output=True, text=True, env=env, timeout=60)
    graded = json.loads(done.stdout) if done.stdout else None
    return done.returncode, graded, {c["check"]: (c["grade"], c["text"]) for c in graded["checks"]} if graded else done.stderr


def test_the_library_is_good(example):
    e = example("broadcast-executor", "--key", KEY)
    code, graded, checks = check(e.url + "/reload", key=KEY)
    assert (code, graded["grade"]) == (0, "good"), checks
    assert set(checks) == {"call", "form", "repeated key", "key, other body", "no JSON", "GET", "wrong signature", "lower epoch", "health"}
    code, _, checks = check(e.url + "/reload")
    assert code == 1 and checks["call"][0] == "broken" and "CARILLON_APPLICATION_KEY" in checks["call"][1]
    long = example("long-executor", "--key", KEY)
    code, graded, checks = check(long.url + "/report", "--body", '{"seconds":0}', key=KEY)
    assert (code, graded["grade"]) == (0, "good") and checks["status url"][0] == "good", checks


def test_a_plain_service(executor):
    code, graded, checks = check(f"http://{executor.address}/plain")
    assert (code, graded["grade"]) == (0, "works, but mend")
    assert checks["call"][0] == checks["form"][0] == "good" and "not tried" in checks["wrong signature"][1]
    assert checks["repeated key"][0] == checks["GET"][0] == checks["no JSON"][0] == "mend"
    code, _, checks = check(f"http://{executor.address}/plain", key=KEY)
    assert code == 1 and checks["wrong signature"][0] == "broken", "it takes a wrong signature for right"
    executor.behave["/text"] = lambda call: b"done"
    assert "no JSON" in check(f"http://{executor.address}/text")[2]["form"][1]


def test_broken_ones(executor):
    executor.behave["/moved"] = lambda call: (302, {}, {"Location": "/plain"})
    code, _, checks = check(f"http://{executor.address}/moved")
    assert code == 1 and "redirects are not followed" in checks["call"][1] and "http_3xx" in checks["call"][1]
    executor.behave["/error"] = lambda call: (500, {})
    assert check(f"http://{executor.address}/error")[0] == 1
    assert check("http://127.0.0.1:1/x")[0] == 5 and check("127.0.0.1:9")[0] == 2
    assert check(f"http://{executor.address}/x", "--body", "{broken")[0] == 2
    assert check(f'http://{executor.address}/q?"')[1]["url"].endswith('"')
    table = subprocess.run([BINARY, "check-endpoint", f"http://{executor.address}/plain"], capture_output=True, text=True, timeout=60)
    assert table.returncode == 0 and table.stdout.startswith("CHECK") and "to mend" in table.stdout


def test_an_endless_answer(executor):
    executor.behave["/big"] = lambda call: b'"' + b"x" * (5 << 20) + b'"'
    code, _, text = check(f"http://{executor.address}/big")
    assert code == 5 and "more than 4 MiB" in text, text
