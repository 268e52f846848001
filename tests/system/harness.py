"""What the system tests stand on: the real binary, a recording executor, and a checker that recomputes what was promised."""
import contextlib
import http.server
import json
import os
import signal
import socket
import subprocess
import threading
import time
from datetime import datetime, timezone

import requests

BINARY = os.environ.get("CARILLON_BINARY", os.path.join(os.path.dirname(__file__), "../../build/test/carillon"))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def millis(text):
    return round(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


def rfc3339(ms):
    return datetime.fromtimestamp(ms / 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % 1000:03d}Z"


def until(condition, seconds=20, what="condition"):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s: {what}")


class Executor:
    """A plain HTTP server that knows nothing of Carillon. Records every request; `behave[path]` may answer otherwise."""

    def __init__(self, port=0):
        self.calls, self.behave, self.lock = [], {}, threading.Lock()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                call = {"at": time.time(), "method": self.command, "path": self.path, "headers": dict(self.headers), "body": body,
                        "key": self.headers.get("Idempotency-Key")}
                with outer.lock:
                    outer.calls.append(call)
                behaviour = outer.behave.get(self.path.split("?")[0])
                answer = behaviour(call) if behaviour else {"status": "success", "result": None}
                status, headers = 200, {}
                if isinstance(answer, tuple):
                    status, answer, headers = (*answer, {})[:3]
                data = answer if isinstance(answer, bytes) else json.dumps(answer, ensure_ascii=False).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json; charset=utf-8")
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
                call["answered"] = time.time()

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 512

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        self.address = f"127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def of(self, path):
        with self.lock:
            return [c for c in self.calls if c["path"].split("?")[0] == path]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Api:
    def __init__(self, url, token):
        self.url, self.session = url + "/api/v1", requests.Session()
        self.session.headers["Authorization"] = f"Bearer {token}"

    def call(self, method, path, body=None, ok=True, **kw):
        data = body if isinstance(body, (bytes, str, type(None))) else json.dumps(body)
        answer = self.session.request(method, self.url + path, data=data.encode() if isinstance(data, str) else data,
                                      headers={"Content-Type": "application/json", **kw.pop("headers", {})}, timeout=60, **kw)
        if ok and answer.status_code >= 300:
            raise AssertionError(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer if not ok else answer.json() if answer.text else None

    def get(self, path, **kw):
        return self.call("GET", path, **kw)

    def put(self, path, body, **kw):
        return self.call("PUT", path, body, **kw)

    def post(self, path, body=None, **kw):
        return self.call("POST", path, {} if body is None else body, **kw)

    def job(self, name, graph, triggers=None, project="default", **spec):
        return self.put(f"/projects/{project}/jobs/{name}", {"spec": {"graph": graph, "triggers": triggers or [], **spec}})

    def enqueue(self, name, project="default", **extra):
        item = self.post(f"/projects/{project}/jobs:enqueue", {"names": [name], **extra})["items"][0]
        assert item["ok"], item
        return item["result"]["run"]

    def run(self, run, project="default"):
        return self.get(f"/projects/{project}/runs/{run}")

    def ended(self, run, seconds=20, project="default"):
        return until(lambda: (r := self.run(run, project))["state"] not in ("queued", "running") and r, seconds, f"end of run {run}")

    def all(self, path):
        items, skip = [], 0
        while True:
            page = self.get(f"{path}{'&' if '?' in path else '?'}skip={skip}&limit=1000")
            items += page["items"]
            skip += 1000
            if len(page["items"]) < 1000:
                return items


class Process:
    """A carillon server process."""

    def __init__(self, *args, env=None, port=None):
        self.port, self.args, self.env = port or free_port(), args, dict(os.environ, XDG_CONFIG_HOME="/nonexistent-carillon", **(env or {}))
        self.url, self.process, self.log = f"http://127.0.0.1:{self.port}", None, []

    def start(self, ready="/healthz", seconds=20):
        self.process = subprocess.Popen([BINARY, *self.args, "--listen", f"127.0.0.1:{self.port}"], env=self.env,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True).start()

        def up():
            assert self.process.poll() is None, f"ended with {self.process.returncode}:\n{self.output()}"
            with contextlib.suppress(requests.RequestException):
                return requests.get(self.url + ready, timeout=2).status_code == 200
            return False

        until(up, seconds, f"{self.args[0]} to answer {ready}")
        return self

    def _read(self, stream):
        for line in stream:
            self.log.append(line)

    def output(self):
        return "".join(self.log[-60:])

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self, seconds=20):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                return self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.kill()
                raise AssertionError(f"did not stop on SIGTERM:\n{self.output()}") from None
        return self.process.returncode if self.process else None


class Standalone(Process):
    def __init__(self, folder, *args, **kw):
        super().__init__("standalone", "--data", str(folder), *args, **kw)
        self.folder = folder

    def start(self, ready="/readyz", seconds=20):
        super().start(ready, seconds)
        with open(os.path.join(self.folder, "admin.token"), encoding="utf-8") as f:
            self.token = f.read().strip()
        self.api = Api(self.url, self.token)
        return self


def every(anchor_ms, period_ms, start_ms, end_ms):
    """Instants of a fixed-rate trigger in [start, end): computed here, not by the product."""
    first = start_ms + (anchor_ms - start_ms) % period_ms
    return list(range(first, end_ms, period_ms))


def ledger_instants(items):
    """(trigger, ms) of each run of the ledger, and the ranges of skips."""
    runs = [(i["trigger"], millis(i["scheduled_at"])) for i in items if i["outcome"] == "run"]
    skips = [(i["trigger"], millis(i["from"]), millis(i["to"]), i["count"]) for i in items if i["outcome"] == "skip"]
    return runs, skips


def check_ledger(items, promised):
    """Every promised instant is exactly one run or lies in exactly one skip; nothing else is there."""
    runs, skips = ledger_instants(items)
    assert len(runs) == len(set(runs)), f"an instant ran twice: {[r for r in runs if runs.count(r) > 1][:5]}"
    counted = {skip: 0 for skip in skips}
    have = set(runs)
    for trigger, at in promised:
        covering = [s for s in skips if s[0] == trigger and s[1] <= at <= s[2]]
        for skip in covering:
            counted[skip] += 1
        total = len(covering) + ((trigger, at) in have)
        assert total == 1, f"{trigger} {rfc3339(at)} has {total} outcomes"
        have.discard((trigger, at))
    assert not have, f"runs that nobody promised: {sorted(have)[:5]}"
    for skip, number in counted.items():
        assert skip[3] in (number, -1), f"skip {skip} counts {skip[3]}, promised {number}"


def doubled(calls):
    """Keys of calls whose step was called under another key although the earlier one had no definite end, by the executor's log:
    here every answered call is a definite end, so a step may have several keys only when the earlier ones were answered."""
    steps, bad = {}, []
    for call in sorted(calls, key=lambda c: c["at"]):
        run, step, item, _ = call["key"].rsplit(".", 3) if call["key"].count(".") == 3 else call["key"].split(".", 3)
        earlier = steps.setdefault((run, step, item), [])
        if any(e["key"] != call["key"] and "answered" not in e for e in earlier):
            bad.append(call["key"])
        earlier.append(call)
    return bad
