"""Clients that send what they should not: the answer is a 4xx with a code and a reason, and everybody else is served on."""
import collections
import socket
import threading
import time

import requests

from harness import Api, millis, until

PROJECT = "/projects/default"
GRAPH = [{"step": "a", "url": "http://127.0.0.1:1/"}]


def spec(**more):
    return {"spec": {"graph": GRAPH, **more}}


def raw(port, data, seconds=3):
    with socket.create_connection(("127.0.0.1", port)) as c:
        c.settimeout(seconds)
        c.sendall(data)
        out = b""
        try:
            while b"\r\n\r\n" not in out:
                piece = c.recv(65536)
                if not piece:
                    break
                out += piece
        except OSError:
            pass
        return out


def test_broken_http(standalone):
    token = f"Authorization: Bearer {standalone.token}\r\n".encode()
    post = b"POST /api/v1/render HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + token
    get = b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + token + b"\r\n"
    cases = {
        b"GET /healthz\r\n\r\n": b"400", b"GET /healthz HTTP/1.1\r\n\r\n": b"400", post + b"Content-Length: -5\r\n\r\n{}": b"400",
        post + b"Content-Length: 99999999999999999999999\r\n\r\n{}": b"413", post + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\nabc\r\n0\r\n\r\n": b"400",
        post + b"Content-Length: 200000000\r\nExpect: 100-continue\r\n\r\n": b"413",
        post + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n": b"400",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 100000 + b"\r\n\r\n": b"431",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"".join(b"X%d: a\r\n" % i for i in range(5000)) + b"\r\n": b"431",
        b"GET /" + b"a" * 200000 + get: b"414", b"GET /../../../etc/passwd" + get: b"404", b"GET /%2e%2e/%2e%2e/etc/passwd" + get: b"404",
        b"GET /assets/..%2f..%2fetc/passwd" + get: b"404", b"GET /api/v1/projects/%00/jobs" + get: b"404", b"GET /api/v1/projects/%ff%fe/jobs" + get: b"404",
        b"TRACE /" + get: b"404", b"OPTIONS /api/v1/projects" + get: b"405", b"DELETE /api/v1/projects" + get: b"405",
    }
    for data, status in cases.items():
        answer = raw(standalone.port, data)
        assert answer[9:12] == status and b"root:" not in answer, (data[:80], answer[:200])
    assert requests.get(standalone.url + "/healthz", timeout=5).status_code == 200


def test_bad_bodies(standalone):
    api = standalone.api
    bodies = [b"", b"x", b"[]", b'{"spec":', b'{"spec":{}} x', b"\xef\xbb\xbf{}", b'{"spec":' + b"[" * 100000 + b"]" * 100000 + b"}",
              b'{"spec":{"graph":[{"step":"a","url":"http://h/\xff"}]}}', b'{"spec":{"graph":[{"step":"a","url":"http://h/\x00"}]}}',
              b'{"metadata":{"description":"\\u0000"},"spec":{}}', b'{"metadata":{"description":"\\ud800"},"spec":{}}', b'{"spec":{},"spec":{}}']
    for body in bodies:
        answer = api.call("PUT", f"{PROJECT}/jobs/x", body, ok=False)
        assert answer.status_code == 400 and answer.json()["error"]["code"], (body[:60], answer.text[:200])
    assert api.call("PUT", f"{PROJECT}/jobs/x", b'{"spec":"' + b"a" * (5 << 20) + b'"}', ok=False).status_code == 413
    assert api.call("POST", f"{PROJECT}/jobs:pause", {"names": ["x"] * 10000}, ok=False).status_code == 413
    items = api.post(f"{PROJECT}/jobs:pause", {"names": ["x", 1, None, [], {}]})["items"]
    assert len(items) == 5 and not any(i["ok"] for i in items)
    for name in ("A", "-a", "..", "a" * 129, "é", "x'; DROP TABLE job;--", "<b>"):
        answer = api.call("PUT", f"{PROJECT}/jobs/{requests.utils.quote(name, safe='')}", spec(), ok=False)
        assert answer.status_code in (400, 404), (name, answer.text)
    assert api.get(f"{PROJECT}/jobs")["total"] == 0


def test_absurd_values(standalone):
    api = standalone.api
    triggers = [{"every": "1ms"}, {"every": "0s"}, {"every": "-1s"}, {"every": "9223372036854775807ms"}, {"delay": "1ms"}, {"at": "9999-12-31T23:59:59Z"},
                {"at": "2026-02-30T00:00:00Z"}, {"cron": "0 0 31 2 *"}, {"cron": "0/0 * * * * ?"}, {"cron": "1," * 5000 + "1 * * * *"}, {"cron": ";"},
                {"cron": "* * * * *", "timezone": "../../etc/passwd"}, {"cron": "* * * * *", "timezone": "localtime"}, {"every": "1s", "max_fires": -1},
                {"every": "1s", "max_fires": 10**20}, {"every": "1s", "quiet": ["00:00-24:00"]}, {"every": "1s", "end": "1970-01-01T00:00:00Z"},
                {"every": "1s", "params": {"a": "x" * 70000}}, {}, {"every": "1s", "cron": "* * * * *"}]
    for trigger in triggers:
        answer = api.call("PUT", f"{PROJECT}/jobs/t", spec(triggers=[{"name": "t", **trigger}]), ok=False)
        assert answer.status_code == 400 and answer.json()["error"]["details"], (trigger, answer.text[:200])
    nested = {"step": "z", "url": "http://127.0.0.1:1/"}
    for n in range(100):
        nested = {"serial" if n % 2 else "parallel": [nested]}
    mesh = [{"step": f"s{i}", "url": "http://127.0.0.1:1/", "after": [f"s{j}" for j in range(i)]} for i in range(300)]
    bad = [[nested], mesh, mesh[:1] * 1001, [{"step": "a", "url": "http://h/", "params": {"x": "${" + "(" * 5000 + "1" + ")" * 5000 + "}"}}],
           [{"step": "a", "url": "http://h/", "params": {"x": "${" * 3000 + "}" * 3000}}], [{"step": "a", "url": "http://h/\r\nX: y"}],
           [{"step": "a", "url": "http://h/", "headers": {"X": "a\r\nY: b"}}], [{"step": "a", "url": "http://h/", "headers": {"Content-Length": "5"}}],
           [{"step": "a", "url": "http://h/", "method": "GET / HTTP/1.1\r\nX: "}], [{"step": "a", "url": "http://h/", "timeout": "99999999d"}]]
    for graph in bad:
        began = time.monotonic()
        answer = api.call("PUT", f"{PROJECT}/jobs/g", {"spec": {"graph": graph}}, ok=False)
        assert answer.status_code == 400 and time.monotonic() - began < 5, answer.text[:200]
    for query in ("limit=0", "limit=1001", "limit=x", "skip=-1", "skip=2147483648", "state=x", "from=x", "from=2026-13-01T00:00:00Z", "cursor=x", "has_error=x"):
        assert api.call("GET", f"{PROJECT}/runs?{query}", ok=False).status_code == 400, query
    for query in ("job='%20OR%201=1--", "trigger=%27;drop", "text=%25%27", "from=0001-01-01T00:00:00Z", "to=9999-12-31T23:59:59Z"):
        assert api.get(f"{PROJECT}/runs?{query}")["total"] == 0, query
    for run in ("0", "-1", "x", "9" * 30, "1%27", "0x10"):
        assert api.call("GET", f"{PROJECT}/runs/{run}", ok=False).status_code == 404, run
    # at their limits they are taken
    chain = [{"step": f"s{i}", "url": "http://127.0.0.1:1/", **({"after": [f"s{i - 1}"]} if i else {})} for i in range(1000)]
    api.job("a" * 128, chain, params={"p": "y" * (65536 - 8)})
    for moment, ok in (("1969-12-31T23:59:59Z", False), ("9999-12-31T23:59:59Z", False), ("1970-01-01T00:00:00Z", True)):
        api.job("m", GRAPH, timeout="1s")
        item = api.post(f"{PROJECT}/jobs:enqueue", {"items": [{"name": "m", "scheduled_at": moment}]})["items"][0]
        assert item["ok"] == ok, item


def test_refused_tokens_lock_nobody_out(standalone):
    assert standalone.api.get(f"{PROJECT}/jobs")["total"] == 0
    stranger = Api(standalone.url, "cr_wrong")
    codes = collections.Counter(stranger.call("GET", f"{PROJECT}/jobs", ok=False).status_code for _ in range(45))
    assert set(codes) == {401, 429}, codes
    time.sleep(5.5)  # longer than a token is remembered without asking the store
    assert standalone.api.call("GET", f"{PROJECT}/jobs", ok=False).status_code == 200


def test_crowds_and_slow_clients(standalone, executor):
    """1,200 clients that never finish, 200 that never read, 100 that work: the working ones are served, the clock is kept."""
    api = standalone.api
    api.job("tick", [{"step": "a", "url": f"http://{executor.address}/tick"}], [{"name": "t", "every": "100ms", "align": True}], overlap="allow", max_parallel=100)
    api.job("work", [{"step": "a", "url": f"http://{executor.address}/work"}], overlap="allow", max_parallel=5000)
    token = f"Authorization: Bearer {standalone.token}\r\n".encode()
    idle = []
    for n in range(1400):
        c = socket.create_connection(("127.0.0.1", standalone.port), timeout=5)
        c.sendall((b"GET /healthz HTTP/1.1\r\nHost", b"PUT /api/v1/projects/default/jobs/x HTTP/1.1\r\nHost: x\r\n" + token + b"Content-Length: 4000000\r\n\r\n{")[n % 2]
                  if n < 1200 else b"GET /api/v1/projects/default/runs?limit=1000 HTTP/1.1\r\nHost: x\r\n" + token + b"\r\n")
        idle.append(c)
    codes = collections.Counter()

    def client():
        mine = Api(standalone.url, standalone.token)
        for _ in range(5):
            codes[mine.call("POST", f"{PROJECT}/jobs:enqueue", {"names": ["work"]}, ok=False).status_code] += 1

    threads = [threading.Thread(target=client) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == {200: 500}, codes
    for c in idle:
        c.close()
    api.post(f"{PROJECT}/jobs:pause", {"names": ["tick"]})
    until(lambda: api.get(f"{PROJECT}/runs?state=queued,running&limit=1")["total"] == 0, 30, "all runs to end")
    assert len({c["key"] for c in executor.of("/work")}) == len(executor.of("/work")) == 500
    late = max(millis(r["fired_at"]) - millis(r["scheduled_at"]) for r in api.all(f"{PROJECT}/runs?job=tick"))
    assert late < 3000, f"{late} ms late"
