"""Servers that misbehave, as one table. What the server itself counted is the judge of what was delivered.

A row of BEHAVIOURS: name → (how the server is made, class, deliveries, piece of the error text; None: there is no error text).
Several classes stand for the three kinds of tasks, in the order of KINDS; a|b for a race that may end in two ways."""
import collections
import contextlib
import gzip
import socket
import ssl
import threading
import time

OK = b'{"status":"success","result":1}'

# What a task says about its answers.
KINDS = {"plain": {}, "sia": {"success_when": "sia"}, "when": {"success_when": "${status == 200 && body.status == 'success'}"}}


class Rude:
    """A socket server that answers as it likes; counts the keys of the requests that reached it.

    answer(c) is called when a whole request has been read, accept(c) right after a connection came, early(c) after the request's head.
    hold: connections are taken by the kernel alone, nobody reads."""

    def __init__(self, answer=None, accept=None, early=None, hold=False, full=False, v6=False, tls=None, body=None, slow=0):
        family, host = (socket.AF_INET6, "::1") if v6 else (socket.AF_INET, "127.0.0.1")
        self.socket = socket.socket(family)
        if slow:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.bind((host, 0))
        self.socket.listen(0 if full else 256)
        self.port, self.body, self.slow, self.tls = self.socket.getsockname()[1], body, slow, tls
        self.address = f"[::1]:{self.port}" if v6 else f"127.0.0.1:{self.port}"
        self.url = f"{'https' if tls else 'http'}://{self.address}/x"
        self.answer, self.accept, self.early = answer, accept, early
        self.keys, self.at, self.heads, self.fillers = collections.Counter(), [], [], []
        if full:  # nobody takes these, so the next connection is never answered
            for _ in range(3):
                filler = socket.socket()
                filler.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    filler.connect((host, self.port))
                self.fillers.append(filler)
        elif not hold:
            threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._visit, args=(self.socket.accept()[0],), daemon=True).start()

    def _visit(self, c):
        with contextlib.suppress(OSError), c:
            if self.tls:
                c = self.tls.wrap_socket(c, server_side=True)
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
            if self.early:
                self._count(head, fields)
                return self.early(c)
            while len(body) < int(fields.get(b"Content-Length", 0)):
                time.sleep(self.slow)
                piece = c.recv(65536)
                if not piece:
                    return None
                body += piece
            self._count(head, fields)
            return self.answer(c)

    def _count(self, head, fields):
        if head.startswith(b"DELETE"):
            return  # nobody waits any more: a word about the call, not the call
        self.heads.append(head)
        self.at.append(time.monotonic())
        self.keys[fields[b"Idempotency-Key"].decode()] += 1

    def close(self):
        self.socket.close()
        for filler in self.fillers:
            filler.close()


def reply(body, head=b"", length=None, status=b"200 OK"):
    return b"HTTP/1.1 " + status + b"\r\nContent-Length: %d\r\n" % (len(body) if length is None else length) + head + b"\r\n" + body


def say(data):
    return {"answer": lambda c: c.sendall(data)}


def tell(body, head=b"", status=b"200 OK"):
    return say(reply(body, head, status=status))


def reset(c):
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    c.close()


def then_reset(data):
    def act(c):
        c.sendall(data)
        time.sleep(0.05)
        reset(c)
    return {"answer": act}


def endless(first, piece):
    def act(c):
        c.sendall(first)
        while True:
            c.sendall(piece)
    return {"answer": act}


def drip(c):
    for byte in reply(OK):
        c.sendall(bytes([byte]))
        time.sleep(0.3)


def in_pieces(*pieces):
    def act(c):
        for piece in pieces:
            c.sendall(piece)
            time.sleep(0.05)
    return {"answer": act}


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
WHOLE = b"\r\n1f\r\n" + OK + b"\r\n0\r\n\r\n"
BUSY = ("busy",)
BIG = "x" * 1_000_000

BEHAVIOURS = {
    # ---- where the connection breaks
    "reset at accept": (dict(accept=reset), "unknown|not_sent", 0, ""),  # before or after the client has written
    "reset after the head of the request": (dict(early=reset), "unknown", 1, "eset"),
    "closed after the request": (dict(answer=lambda c: None), "unknown", 1, ""),
    "reset after the request": (dict(answer=reset), "unknown", 1, "eset"),
    "reset within the status": (then_reset(b"HTTP/1.1 20"), "unknown", 1, ""),
    "reset within the headers": (then_reset(b"HTTP/1.1 200 OK\r\nContent-Le"), "unknown", 1, ""),
    "closed within the headers": (say(b"HTTP/1.1 200 OK\r\nContent-Le"), "unknown", 1, "headers"),
    "reset between head and body": (then_reset(reply(b"", length=40)), "unknown", 1, ""),
    "reset within the body": (then_reset(reply(OK[:10], length=len(OK))), "unknown", 1, ""),
    "closed within the body": (say(reply(OK, length=1000)), "unknown", 1, ""),
    "reset after the answer": (then_reset(reply(OK, b"Connection: close\r\n")), "success", 1, None),
    "reset within a chunk": (then_reset(CHUNKED + b"\r\n5\r\nab"), "unknown", 1, ""),
    "closed within a chunk": (say(CHUNKED + b"\r\n5\r\nab"), "unknown", 1, ""),
    "closed before the last chunk": (say(CHUNKED + b"\r\n1f\r\n" + OK + b"\r\n"), "unknown", 1, ""),
    "nobody accepts": (dict(hold=True), "timeout", 0, ""),
    "no connection is answered": (dict(full=True), "not_sent", 0, ""),
    # ---- slow ones
    "a byte at a time": (dict(answer=drip), "timeout", 1, ""),
    "never": (dict(answer=lambda c: time.sleep(8)), "timeout", 1, ""),
    "head in pieces": (in_pieces(b"HTTP/1.", b"1 200 O", b"K\r\nContent-Length: 31\r", b"\n\r", b"\n" + OK), "success", 1, None),
    "reads slowly": (dict(answer=lambda c: c.sendall(reply(OK)), slow=0.002, body=BIG), "success", 1, None),
    "answers before the body was sent": (dict(early=lambda c: (c.sendall(reply(OK)), time.sleep(0.5)), body=BIG), "success", 1, None),
    "refuses before the body was sent": (dict(early=lambda c: (c.sendall(reply(b"", status=b"413 Too Big")), time.sleep(0.5)), body=BIG), "http_4xx", 1, "413"),
    # ---- lengths and framing
    "longer than it says": (say(reply(OK, length=len(OK) - 1) + b"}"), ("success", "bad_answer", "bad_answer"), 1, None),
    "negative length": (say(reply(OK, length=-5)), "bad_answer", 1, "ength"),
    "absurd length": (say(reply(OK, length=10**15)), "unknown", 1, ""),
    "length beyond 64 bits": (say(reply(OK, length=10**25)), "bad_answer", 1, "ength"),
    "length in words": (say(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n" + OK), "bad_answer", 1, "ength"),
    "two lengths that differ": (say(reply(OK, b"Content-Length: 5\r\n")), "bad_answer", 1, "ength"),
    "two lengths that agree": (say(reply(OK, b"Content-Length: 31\r\n")), "success", 1, None),
    "length and chunks": (say(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n" + WHOLE), "success", 1, None),
    "chunks with trailers": (say(CHUNKED + WHOLE[:-2] + b"X-Sum: 1\r\n\r\n"), "success", 1, None),
    "chunks with extensions": (say(CHUNKED + b"\r\n1f;a=b;c\r\n" + OK + b"\r\n0\r\n\r\n"), "success", 1, None),
    "broken chunk": (say(CHUNKED + b"\r\nZZ\r\nab\r\n0\r\n\r\n"), "bad_answer", 1, "chunk"),
    "chunk beyond 64 bits": (say(CHUNKED + b"\r\nfffffffffffffffff\r\nab\r\n0\r\n\r\n"), "bad_answer", 1, "chunk"),
    "endless trailers": (endless(CHUNKED + b"\r\n0\r\n", b"X-A: " + b"a" * 1000 + b"\r\n"), "bad_answer", 1, "headers"),
    "no length, closed": (say(b"HTTP/1.1 200 OK\r\n\r\n" + OK), "success", 1, None),
    # ---- not HTTP as it should be
    "HTTP/0.9": (say(OK), "bad_answer", 1, "0.9"),
    "HTTP/1.0": (say(b"HTTP/1.0 200 OK\r\n\r\n" + OK), "success", 1, None),
    "garbage": (say(bytes(range(128, 256)) * 40), "bad_answer", 1, ""),
    "another protocol": (say(b"SSH-2.0-OpenSSH_9\r\n"), "bad_answer", 1, ""),
    "lines without carriage return": (say(b"HTTP/1.1 200 OK\nContent-Length: 31\n\n" + OK), "success", 1, None),
    "NUL in a header": (say(reply(OK, b"X-A: a\0b\r\n")), "bad_answer", 1, ""),
    "status 101": (say(b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nfoo"), "bad_answer", 1, ""),
    "status 999": (tell(OK, status=b"999 Hm"), "bad_answer", 1, "999"),
    "status 42": (tell(OK, status=b"42 Hm"), "bad_answer", 1, ""),
    "interim answers first": (say(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n" + reply(OK)), "success", 1, None),
    "endless interim answers": (endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100), "bad_answer", 1, "headers"),
    "endless headers": (endless(b"HTTP/1.1 200 OK\r\n", b"X-A: " + b"a" * 1000 + b"\r\n"), "bad_answer", 1, "headers"),
    "one endless header": (endless(b"HTTP/1.1 200 OK\r\nX-A: ", b"a" * 65536), "bad_answer", 1, "header"),
    "duplicate headers": (tell(OK, b"Content-Type: text/plain\r\nContent-Type: application/json\r\nX-A: 1\r\nX-A: 2\r\n"), "success", 1, None),
    # ---- big ones
    "endless body": (endless(b"HTTP/1.1 200 OK\r\n\r\n", b"a" * 65536), "bad_answer", 1, "dispatch.max_response"),
    "endless chunks": (endless(CHUNKED + b"\r\n", b"1000\r\n" + b"a" * 4096 + b"\r\n"), "bad_answer", 1, "dispatch.max_response"),
    "gzip bomb": (tell(gzip.compress(bytes(50_000_000)), b"Content-Encoding: gzip\r\n"), ("success", "bad_answer", "failure"), 1, "UTF-8"),
    "body of 4 MiB": (tell(b"t" * (4 << 20)), ("success", "bad_answer", "bad_answer"), 1, "too big for a result"),
    "body of 4 MiB + 1": (tell(b"t" * ((4 << 20) + 1)), "bad_answer", 1, "dispatch.max_response"),
    "result of 64 KiB": (tell(b'{"status":"success","result":"' + b"r" * 65534 + b'"}'), "success", 1, None),
    # ---- texts
    "deep JSON": (tell(b"[" * 20000 + b"]" * 20000), ("success", "bad_answer", "bad_answer"), 1, None),
    "no UTF-8": (tell(b'{"status":"success","result":"\xff\xfe"}'), ("success", "bad_answer", "failure"), 1, "UTF-8"),
    "NUL in the body": (tell(b"a\0b"), ("success", "bad_answer", "failure"), 1, "UTF-8"),
    "code of 10,000 characters": (tell(b'{"status":"failed","code":"' + b"C" * 10000 + b'","message":"' + "é".encode() * 50000 + b'"}'), "failure", 1, "é"),
    # ---- elsewhere
    "redirect": (tell(b"", b"Location: http://169.254.169.254/\r\n", b"302 Found"), "http_3xx", 1, "302"),
    "redirect that keeps the method": (tell(b"", b"Location: /y\r\n", b"307 Temporary"), "http_3xx", 1, "307"),
    "not modified": (tell(b"", status=b"304 Not Modified"), "http_3xx", 1, "304"),
    "IPv6": (dict(answer=lambda c: c.sendall(reply(OK)), v6=True), "success", 1, None),
}

# Whole answers and what they mean: §2 of the protocol, row by row.
ANSWERS = {
    "success": (tell(OK), "success", 1, None),
    "success in capitals": (tell(b'{"status":"SUCCESS"}'), ("success", "success", "failure"), 1, None),
    "success, nested": (tell(b'{"status":{"status":"success"},"result":2}'), ("success", "success", "failure"), 1, None),
    "failure": (tell(b'{"status":"failure","code":"E7","message":"no"}'), "failure", 1, "no"),
    "failed": (tell(b'{"status":"failed","message":"no"}'), "failure", 1, "no"),
    "error": (tell(b'{"status":"error","error":{"code":"E8","message":"deep"}}'), "failure", 1, "deep"),
    "unknown": (tell(b'{"status":"unknown"}'), "failure", 1, ""),
    "failed, nested": (tell(b'{"status":{"status":"failed"},"mess":"sia says no"}'), "failure", 1, "sia says no"),
    "no status": (tell(b'{"rows":7}'), ("success", "failure", "bad_answer"), 1, None),
    "a list": (tell(b"[1,2]"), ("success", "failure", "bad_answer"), 1, None),
    "text": (tell(b"done", b"Content-Type: text/plain\r\n"), ("success", "bad_answer", "bad_answer"), 1, None),
    "text that says it is JSON": (tell(b"done", b"Content-Type: application/json\r\n"), ("success", "bad_answer", "bad_answer"), 1, "JSON"),
    "nothing": (tell(b""), ("success", "bad_answer", "failure"), 1, None),
    "204": (say(b"HTTP/1.1 204 No Content\r\n\r\n"), ("success", "bad_answer", "failure"), 1, None),
    "201 with success": (tell(OK, status=b"201 Created"), ("success", "success", "failure"), 1, None),
    "202 with Location": (tell(b"", b"Location: /status/1\r\n", b"202 Accepted"), ("timeout", "bad_answer", "failure"), 1, None),
    "202 with success": (tell(OK, status=b"202 Accepted"), ("success", "success", "failure"), 1, "202 without Location"),
    "accepted": (tell(b'{"status":"accepted"}'), ("timeout", "failure", "failure"), 1, None),
    "delay": (tell(b'{"status":"delay","after":"20s"}'), ("busy", "failure", "failure"), 1, None),
    "425": (tell(b"", status=b"425 Too Early"), "busy", 1, "425"),
    "429": (tell(b"", b"Retry-After: 1\r\n", b"429 Too Many"), "busy", 1, "429"),
    "503 for ages": (tell(b"", b"Retry-After: 99999999999999999999\r\n", b"503 No"), "busy", 1, "503"),
    "503 until a date": (tell(b"", b"Retry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n", b"503 No"), "busy", 1, "503"),
    "503 until nonsense": (tell(b"", b"Retry-After: soon\r\n", b"503 No"), "busy", 1, "503"),
    "400": (tell(b'{"error":{"code":"BAD","message":"words"}}', status=b"400 Bad"), "http_4xx", 1, "words"),
    "404": (tell(b"", status=b"404 Not Found"), "http_4xx", 1, "404"),
    "500": (tell(b"oops", status=b"500 Oops"), "http_5xx", 1, "500"),
    "500 of a busy SIA task": (tell(b"<p>This task is running</p>", status=b"500 Oops"), ("http_5xx", "busy", "http_5xx"), 1, "500"),
    "busy SIA task, newer": (tell(b'{"status":{"status":"failed"},"mess":"This task is running"}'), ("failure", "busy", "failure"), 1, "running"),
}


def class_for(row, kind):
    return row[1] if isinstance(row[1], str) else row[1][list(KINDS).index(kind)]


def tls_context(certificate, key, oldest=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if oldest:
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = context.maximum_version = oldest
    return context
