"""Executors that misbehave, and a process that dies exactly around its calls. What the server itself counted decides."""
import collections
import contextlib
import gzip
import os
import signal
import socket
import threading
import time

import pytest

from harness import Standalone, until

OK = b'{"status":"success","result":1}'


class Rude:
    """A socket server that answers as it likes; counts the keys of the requests that reached it."""

    def __init__(self, answer=None, accept=None):
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/x"
        self.answer, self.accept, self.keys = answer, accept, collections.Counter()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._visit, args=(self.socket.accept()[0],), daemon=True).start()

    def _visit(self, c):
        with contextlib.suppress(OSError), c:
            if self.accept:
                return self.accept(c)
            data = b""
            while b"\r\n\r\n" not in data:
                piece = c.recv(65536)
                if not piece:
                    return None
                data += piece
            head, _, body = data.partition(b"\r\n\r\n")
            fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
            while len(body) < int(fields.get(b"Content-Length", 0)):
                body += c.recv(65536)
            self.keys[fields[b"Idempotency-Key"].decode()] += 1
            return self.answer(c)


def reply(body, head=b"", length=None, status=b"200 OK"):
    return b"HTTP/1.1 " + status + b"\r\nContent-Length: %d\r\n" % (len(body) if length is None else length) + head + b"\r\n" + body


def say(data):
    return lambda c: c.sendall(data)


def reset(c):
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    c.close()


def then_reset(data):
    def act(c):
        c.sendall(data)
        reset(c)
    return act


def endless(first, piece):
    def act(c):
        c.sendall(first)
        while True:
            c.sendall(piece)
    return act


def drip(c):
    for byte in reply(OK):
        c.sendall(bytes([byte]))
        time.sleep(0.3)


# name: (server, state, class, piece of the error; None: there is none)
RUDE = {
    "reset at accept": (dict(accept=reset), "failed", "unknown", ""),
    "closed after the request": (dict(answer=lambda c: None), "failed", "unknown", ""),
    "reset after the request": (dict(answer=reset), "failed", "unknown", "eset"),
    "reset within the status": (dict(answer=then_reset(b"HTTP/1.1 20")), "failed", "unknown", ""),
    "closed within the headers": (dict(answer=say(b"HTTP/1.1 200 OK\r\nContent-Le")), "failed", "unknown", "headers"),
    "closed within the body": (dict(answer=say(reply(OK, length=1000))), "failed", "unknown", ""),
    "reset after the answer": (dict(answer=then_reset(reply(OK, b"Connection: close\r\n"))), "succeeded", "success", None),
    "cut chunk": (dict(answer=say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab")), "failed", "unknown", ""),
    "broken chunk": (dict(answer=say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\nab\r\n0\r\n\r\n")), "failed", "bad_answer", "chunk"),
    "garbage": (dict(answer=say(bytes(range(128, 256)) * 40)), "failed", "bad_answer", ""),
    "another protocol": (dict(answer=say(b"SSH-2.0-OpenSSH_9\r\n")), "failed", "bad_answer", ""),
    "endless body": (dict(answer=endless(b"HTTP/1.1 200 OK\r\n\r\n", b"a" * 65536)), "failed", "bad_answer", "dispatch.max_response"),
    "endless chunks": (dict(answer=endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1000\r\n" + b"a" * 4096 + b"\r\n")), "failed",
                       "bad_answer", "dispatch.max_response"),
    "endless headers": (dict(answer=endless(b"HTTP/1.1 200 OK\r\n", b"X-A: " + b"a" * 1000 + b"\r\n")), "failed", "bad_answer", "headers"),
    "endless interim answers": (dict(answer=endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100)), "failed", "bad_answer", "headers"),
    "a byte at a time": (dict(answer=drip), "failed", "timeout", ""),
    "never": (dict(answer=lambda c: time.sleep(8)), "failed", "timeout", ""),
    "gzip bomb": (dict(answer=say(reply(gzip.compress(bytes(50_000_000)), b"Content-Encoding: gzip\r\n"))), "succeeded", "success", "UTF-8"),
    "longer than it says": (dict(answer=say(reply(OK, length=len(OK) - 1) + b"}")), "succeeded", "success", None),
    "negative length": (dict(answer=say(reply(OK, length=-5))), "failed", "bad_answer", "ength"),
    "absurd length": (dict(answer=say(reply(OK, length=10**15))), "failed", "unknown", ""),
    "redirect": (dict(answer=say(reply(b"", b"Location: http://169.254.169.254/\r\n", status=b"302 Found"))), "failed", "http_3xx", "302"),
    "status 999": (dict(answer=say(reply(OK, status=b"999 Hm"))), "failed", "bad_answer", "999"),
    "status 101": (dict(answer=say(b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nfoo")), "failed", "bad_answer", ""),
    "interim answers first": (dict(answer=say(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n" + reply(OK))), "succeeded", "success", None),
    "deep JSON": (dict(answer=say(reply(b"[" * 20000 + b"]" * 20000))), "succeeded", "success", None),
    "no UTF-8": (dict(answer=say(reply(b'{"status":"success","result":"\xff\xfe"}'))), "succeeded", "success", "UTF-8"),
    "code of 10,000 characters": (dict(answer=say(reply(b'{"status":"failed","code":"' + b"C" * 10000 + b'","message":"' + "é".encode() * 50000 + b'"}'))),
                                  "failed", "failure", "é"),
    "result of 64 KiB": (dict(answer=say(reply(b'{"status":"success","result":"' + b"r" * 65534 + b'"}'))), "succeeded", "success", None),
    "result of 64 KiB + 1": (dict(answer=say(reply(b'{"status":"success","result":"' + b"r" * 65535 + b'"}'))), "failed", "bad_answer", "65536"),
    "body of 4 MiB": (dict(answer=say(reply(b"t" * (4 << 20)))), "succeeded", "success", "too big for a result"),
    "body of 4 MiB + 1": (dict(answer=say(reply(b"t" * ((4 << 20) + 1)))), "failed", "bad_answer", "dispatch.max_response"),
}


def rss(server):
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


def test_rude_executors(standalone):
    """Each ends in time with the right class and a word; none is called twice; memory stays flat; others are not late."""
    api, faults = standalone.api, []
    servers = {name: Rude(**row[0]) for name, row in RUDE.items()}
    before = rss(standalone)
    runs = {}
    for n, (name, server) in enumerate(servers.items()):
        api.job(f"rude{n}", [{"step": "a", "url": server.url, "timeout": "3s", "wait_timeout": "0s"}])
        runs[name] = api.enqueue(f"rude{n}")
    for name, (_, state, kind, piece) in RUDE.items():
        detail = api.ended(runs[name], 20)
        attempts = detail["steps"][0]["attempts"]
        found = (detail["state"], [a["class"] for a in attempts])
        if found != (state, [kind]):
            faults.append(f"{name}: {found} {attempts[-1]['error']}")
        elif (piece is None) != (attempts[0]["error"] is None) or (piece and piece not in attempts[0]["error"]):
            faults.append(f"{name}: says {attempts[0]['error']!r}")
        keys = servers[name].keys
        if len(keys) > 1 or any(count > 1 for count in keys.values()):
            faults.append(f"{name}: delivered {dict(keys)}")
    assert not faults, "\n".join(faults)
    if "asan" not in os.environ.get("CARILLON_BINARY", ""):
        assert rss(standalone) < before + 48 * 1024, f"grew from {before} to {rss(standalone)} KiB"


def test_dying_keep_alive_is_never_delivered_twice(standalone):
    """Answers once, then reads the next request on the same connection and closes: some calls end unknown, none arrives twice."""
    def twice(c):
        c.sendall(reply(OK))
        data = b""
        while b"\r\n\r\n" not in data:
            piece = c.recv(65536)
            if not piece:
                return
            data += piece
        key = next(line for line in data.split(b"\r\n") if line.startswith(b"Idempotency-Key"))
        server.keys[key.split(b": ")[1].decode()] += 1

    server = Rude(answer=twice)
    standalone.api.job("race", [{"step": "a", "url": server.url, "timeout": "5s"}], overlap="allow", max_parallel=100)
    items = standalone.api.post("/projects/default/jobs:enqueue", {"names": ["race"] * 200})["items"]
    states = collections.Counter(standalone.api.ended(i["result"]["run"])["state"] for i in items)
    assert sum(states.values()) == 200 and set(states) <= {"succeeded", "failed"}
    assert max(server.keys.values()) == 1 and len(server.keys) == 200, "a key was delivered twice, or not at all"


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
