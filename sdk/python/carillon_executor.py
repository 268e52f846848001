"""Offer tasks to Carillon from Python. Standard library only; the wire is docs/protocol.md.

    from carillon_executor import Executor, Failure

    executor = Executor("127.0.0.1:9000", application="ledger", key=os.environ.get("CARILLON_KEY"), servers=["http://127.0.0.1:8420"])

    @executor.task("/post", serial=True)
    def post(call):
        if "total" not in call.params:
            raise Failure("NO_TOTAL", "params.total is missing")
        return {"posted": call.params["total"]}

    @executor.task("/report", asynchronous=True)      # answered 202 at once, its end is reported
    def report(call):
        for page in range(10):
            if call.canceled:
                raise Failure("CANCELED", "stopped, as asked")
            call.progress(page * 10, f"page {page}")
            call.log(f"page {page} is written")

    executor.run()

What a task returns is the result (anything JSON); Failure is a failure with a code of yours, Delay asks to be called again later, any other
exception is a failure with the exception's name. A key that was answered gets its first answer again, while this process lives.
"""
import base64
import collections
import hashlib
import hmac
import http.server
import json
import signal
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

CALLS = "/carillon/calls/"


class Failure(Exception):
    def __init__(self, code, message=""):
        super().__init__(message)
        self.code, self.message = code, message


class Delay(Exception):
    def __init__(self, seconds):
        super().__init__(f"again in {seconds} s")
        self.seconds = seconds


class Call:
    """What a task is given."""

    def __init__(self, executor, headers, params):
        self._executor, self.params = executor, params
        self.key, self.run, self.job, self.step = (headers.get(n, "") for n in ("Idempotency-Key", "X-Carillon-Run", "X-Carillon-Job", "X-Carillon-Step"))
        self.attempt, self.scheduled_at, self.deadline = headers.get("X-Carillon-Attempt"), headers.get("X-Carillon-Scheduled-At"), headers.get("X-Carillon-Deadline")
        self.shard_index, self.shard_total = int(headers.get("X-Carillon-Shard-Index", 0)), int(headers.get("X-Carillon-Shard-Total", 1))
        self._callbacks = [u.strip() for u in headers.get("X-Carillon-Callback", "").split(",") if u.strip()]
        self._accepted, self._canceled, self._state, self._log, self._lock, self._ended = False, False, {"state": "running"}, [], threading.Lock(), threading.Event()

    @property
    def canceled(self):
        """Come to an end: canceled, ended otherwise, or the executor stops."""
        return self._canceled or self._executor.stopping

    def progress(self, percent=None, message=None):
        with self._lock:
            self._state = {"state": "running", **({"progress": percent} if percent is not None else {}), **({"message": message} if message else {})}

    def log(self, line):
        with self._lock:
            self._log.append(str(line))

    def _tell(self, suffix, body, kind):
        """To the first address that settles it: its HTTP status, 0 = nobody answered."""
        status = 0
        for url in self._callbacks:
            status, text = request("POST", url + suffix, body, {"Content-Type": kind})
            if status in (409, 410) or (status == 200 and not suffix and json.loads(text or b"{}").get("canceled")):
                self._canceled = True
            if status and status != 429 and status < 500:
                break
        return status

    def _tell_log(self):
        with self._lock:
            lines, self._log = self._log, []
        if lines and self._callbacks:
            self._tell("/logs", ("\n".join(lines) + "\n").encode(), "text/plain; charset=utf-8")

    def _beat(self, seconds):
        told, at = None, time.monotonic()
        while not self._ended.wait(0.25):
            self._tell_log()
            if self._state is not told or time.monotonic() - at >= seconds:
                told, at = self._state, time.monotonic()
                within = {"within": f"{int(seconds * 3 + 5)}s"} if self._accepted else {}
                self._tell("", json.dumps({**told, **within}).encode(), "application/json")

    def _report(self, end):
        """Until it is acknowledged, for a day."""
        self._ended.set()
        self._tell_log()
        pause, until, body = 1, time.monotonic() + 86400, json.dumps(end, ensure_ascii=False).encode()
        while self._callbacks and time.monotonic() < until:
            status = self._tell("", body, "application/json")
            if status in (200, 409, 410):
                return
            if status and status != 429 and status < 500:
                body = json.dumps({"state": "failed", "code": "REPORT_REFUSED", "message": f"the report was refused with {status}"}).encode()
            time.sleep(pause)
            pause = min(pause * 2, 60)


def request(method, url, body=b"", headers=None):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body or None, headers or {}, method=method), timeout=10) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as e:
        return e.code, e.read()
    except OSError as e:
        return 0, str(e).encode()


def sign(key, ident, at, body):
    mac = hmac.new(base64.b64decode(key[len("whsec_"):]), f"{ident}.{at}.".encode() + body, hashlib.sha256).digest()
    return "v1," + base64.b64encode(mac).decode()


class Executor:
    def __init__(self, listen="127.0.0.1:9000", *, key=None, servers=(), project="default", application=None, advertise=None, version=None, heartbeat=10, keys=10000):
        host, _, port = listen.rpartition(":")
        self.keys, self.servers, self.project, self.application, self.version, self.heartbeat = (key or "").split(), list(servers), project, application, version, heartbeat
        self.tasks, self.stopping, self._remember, self._lock = {}, False, keys, threading.Lock()
        self._answers, self._running, self._epochs, self._unnamed = collections.OrderedDict(), {}, collections.OrderedDict(), 0
        executor = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def _serve(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, answer, headers = executor._serve(self.command, urllib.parse.unquote(self.path.split("?")[0]), self.headers, body)
                data = json.dumps(answer, ensure_ascii=False).encode()
                self.send_response(status)
                for name, value in {"Content-Type": "application/json; charset=utf-8", "Content-Length": str(len(data)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_DELETE = do_PUT = _serve

        self._server = http.server.ThreadingHTTPServer((host, int(port)), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.address = advertise or f"{host}:{self.port}"

    def task(self, path, *, serial=False, concurrency=0, asynchronous=False, description=""):
        def add(function):
            self.tasks[path] = {"function": function, "limit": 1 if serial else concurrency, "running": 0,
                                "told": {"path": path, "description": description or (function.__doc__ or "").strip().split("\n")[0], "serial": serial, "async": asynchronous}}
            return function
        return add

    # ---- requests -----------------------------------------------------------------------------------------------------------

    def _serve(self, method, path, headers, body):
        def refuse(status, code, message, **more):
            return status, {"status": "failure", "code": code, "message": message}, more.get("headers", {})
        if path == "/healthz":
            return 200, {"status": "ok", "tasks": [t["told"] for t in self.tasks.values()]}, {}
        wrong = self._signature_wrong(headers, body)
        if wrong:
            return refuse(401, "SIGNATURE", wrong)
        if path.startswith(CALLS):
            return self._call(method, path[len(CALLS):], refuse)
        canceling = path.endswith("/cancel") and path not in self.tasks
        task = self.tasks.get(path[:-len("/cancel")] if canceling else path)
        if not task:
            return refuse(404, "NO_TASK", f"there is no task {path} here")
        if method != "POST":
            return refuse(405, "METHOD", f"{path} takes POST")
        if canceling:
            run, step, key, n = headers.get("X-Carillon-Run"), headers.get("X-Carillon-Step"), headers.get("Idempotency-Key"), 0
            for call in list(self._running.values()):
                if (key and call.key == key) or (run and call.run == run and step in (None, call.step)):
                    call._canceled, n = True, n + 1
            return 200, {"status": "success", "result": {"canceled": n}}, {}
        try:
            params = json.loads(body) if body else {}
        except ValueError as e:
            return refuse(400, "BAD_JSON", f"the body is no JSON: {e}")
        return self._take(task, Call(self, headers, params), headers, body, refuse)

    def _signature_wrong(self, headers, body):
        if not self.keys:
            return None
        ident, at, given = headers.get("Webhook-Id", ""), headers.get("Webhook-Timestamp", ""), headers.get("Webhook-Signature", "").split()
        if not at.isdigit() or abs(time.time() - int(at)) > 300:
            return "Webhook-Timestamp is missing, or more than five minutes away"
        if headers.get("Idempotency-Key", ident) != ident:
            return "Idempotency-Key is not Webhook-Id, so it is not covered by the signature"
        right = any(hmac.compare_digest(sign(key, ident, at, body), one) for key in self.keys for one in given)
        return None if right else "Webhook-Signature does not match"

    def _call(self, method, key, refuse):
        call, answer = self._running.get(key), self._answers.get(key)
        if call:
            if method == "DELETE":
                call._canceled = True
            return (202 if method == "DELETE" else 200), call._state, {}
        return (200, answer["answer"], {}) if answer and answer.get("async") and answer["done"].is_set() else refuse(404, "NO_CALL", "there is no accepted call of this key here")

    def _take(self, task, call, headers, body, refuse):
        epoch, asynchronous = int(headers.get("X-Carillon-Epoch") or 0), task["told"]["async"]
        with self._lock:
            if call.run and epoch < self._epochs.get(call.run, 0):
                return refuse(409, "STALE_EPOCH", f"run {call.run} was taken over")
            if call.run:
                self._epochs[call.run] = epoch
                self._epochs.move_to_end(call.run)
                while len(self._epochs) > self._remember:
                    self._epochs.popitem(last=False)
            if asynchronous and not call.key:
                self._unnamed += 1
                call.key = f"unnamed.{time.time_ns()}.{self._unnamed}"
            known = self._answers.get(call.key) if call.key else None
            if known and known["body"] != body:
                return refuse(422, "KEY_REUSED", "this idempotency key came before with another body")
            if not known:
                if self.stopping or (task["limit"] and task["running"] >= task["limit"]):
                    return refuse(429, "BUSY", f"{task['told']['path']} runs {task['running']} call(s) already", headers={"Retry-After": "1"})
                task["running"] += 1
                entry = {"body": body, "done": threading.Event(), "async": asynchronous}
                if call.key:
                    self._answers[call.key] = entry
                    self._running[call.key] = call
                    while len(self._answers) > self._remember:
                        self._answers.popitem(last=False)
        accepted = 202, {"status": "accepted"}, {"Location": CALLS + urllib.parse.quote(call.key, safe="")}
        if known and asynchronous:
            if known["done"].is_set():
                threading.Thread(target=call._report, args=(known["answer"],), daemon=True).start()
            return accepted
        if known:
            known["done"].wait()
            return 200, known["answer"], {"Idempotency-Replayed": "true"}
        if asynchronous:
            threading.Thread(target=self._run_accepted, args=(task, call, entry), daemon=True).start()
            return accepted
        beats = threading.Thread(target=call._beat, args=(self.heartbeat,), daemon=True) if call._callbacks else None
        if beats:
            beats.start()
        end = self._run(task, call, entry)
        call._ended.set()
        return 200, end, {}

    def _run(self, task, call, entry):
        word = "state" if entry["async"] else "status"
        forget = False
        try:
            result = task["function"](call)
            json.dumps(result)
            end = {word: "succeeded" if entry["async"] else "success", "result": result}
        except Failure as e:
            end = {word: "failed" if entry["async"] else "failure", "code": e.code, "message": e.message}
        except Delay as e:
            end, forget = {word: "delay", "after": f"{e.seconds}s"}, True
        except Exception as e:  # pylint: disable=broad-except
            end = {word: "failed" if entry["async"] else "failure", "code": type(e).__name__, "message": str(e)}
        with self._lock:
            task["running"] -= 1
            entry["answer"] = end
            self._running.pop(call.key, None)
            if forget:
                self._answers.pop(call.key, None)
            entry["done"].set()
        return end

    def _run_accepted(self, task, call, entry):
        call._accepted = True
        threading.Thread(target=call._beat, args=(self.heartbeat,), daemon=True).start()
        call._report(self._run(task, call, entry))

    # ---- life ---------------------------------------------------------------------------------------------------------------

    def _announce(self, verb):
        path = f"/api/v1/projects/{self.project}/apps/{self.application}/instances/{urllib.parse.quote(self.address)}"
        body = json.dumps({"tasks": [t["told"] for t in self.tasks.values()], "version": self.version}).encode() if verb == "register" else b""
        at, ident = str(int(time.time())), f"{verb}:{self.project}/{self.application}/{self.address}:{time.time_ns()}"
        for server in self.servers:
            headers = {"Content-Type": "application/json", "Webhook-Id": ident, "Webhook-Timestamp": at, "Webhook-Signature": sign(self.keys[0], ident, at, body)}
            status, text = request("PUT" if verb == "register" else "DELETE", server.rstrip("/") + path, body, headers)
            if 200 <= status < 300:
                return True
            print(f"not registered at {server}: {status} {text[:200].decode(errors='replace')}", flush=True)
        return False

    def _announce_always(self, stopped):
        while not stopped.wait(10 if self._announce("register") else 2):
            pass
        self._announce("leave")

    def start(self):
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self._stopped = threading.Event()
        self._announcing = threading.Thread(target=self._announce_always, args=(self._stopped,), daemon=True) if self.servers else None
        if self._announcing:
            self._announcing.start()
        return self

    def stop(self, seconds=10):
        """Takes the name off, refuses new calls, lets those that run end."""
        self._stopped.set()
        if self._announcing:
            self._announcing.join(seconds)
        self.stopping = True
        until = time.monotonic() + seconds
        while self._running and time.monotonic() < until:
            time.sleep(0.02)
        self._server.shutdown()

    def run(self):
        """Until SIGINT or SIGTERM."""
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        self.start()
        stop.wait()
        self.stop()
