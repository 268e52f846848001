"""Every behaviour of endpoints.py against every kind of task: the class, the words, and how often the server was reached."""
import collections
import os
import socket
import ssl
import subprocess

import pytest

from endpoints import ANSWERS, BEHAVIOURS, KINDS, OK, Rude, class_for, reply, tell, tls_context
from harness import Standalone, free_port

def rss(server):
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


def has_ipv6():
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


def check(name, kind, row, server, detail):
    """What is wrong; None: nothing."""
    attempts, wanted = detail["steps"][0]["attempts"], class_for(row, kind).split("|")
    found, text = [a["class"] for a in attempts], attempts[-1]["error"] if attempts else detail["error"]
    if len(found) != 1 or found[0] not in wanted or detail["state"] != ("succeeded" if found == ["success"] else "failed"):
        return f"{name}, {kind}: {detail['state']} {found}, expected {wanted}: {text}"
    if sum(server.keys.values()) != row[2] or (row[2] and max(server.keys.values()) > 1):
        return f"{name}, {kind}: delivered {dict(server.keys)}, expected {row[2]}"
    if kind == "plain" and ((row[3] is None) != (text is None) or (row[3] and row[3] not in text)):  # the words are those of the plain task
        return f"{name}, {kind}: says {text!r}, expected {row[3]!r}"
    return None


@pytest.mark.parametrize("kind", KINDS)
def test_every_behaviour(standalone, kind):
    """All at once, so that none holds up another; memory stays flat; each ends in time."""
    api, table = standalone.api, {**BEHAVIOURS, **ANSWERS}
    if not has_ipv6():
        del table["IPv6"]
    servers, runs = {name: Rude(**row[0]) for name, row in table.items()}, {}
    before = rss(standalone)
    for n, (name, server) in enumerate(servers.items()):
        step = {"step": "a", "url": server.url, "timeout": "3s", "wait_timeout": "0s", **KINDS[kind]}
        step.update({"connect_timeout": "1s"} if name == "no connection is answered" else {})
        if server.body:
            step["params"] = {"fill": ["${params.fill}"] * 16}
        api.job(f"rude{n}", [step], params={"fill": server.body[:60000]} if server.body else {})
        runs[name] = api.enqueue(f"rude{n}")
    faults = [check(name, kind, row, servers[name], api.ended(runs[name], 20)) for name, row in table.items()]
    for server in servers.values():
        assert not any(b"Expect:" in head or b"Accept-Encoding:" in head for head in server.heads)
        server.close()
    faults = [fault for fault in faults if fault]
    assert not faults, "\n".join(faults)
    if "asan" not in os.environ.get("CARILLON_BINARY", ""):
        assert rss(standalone) < before + 64 * 1024, f"grew from {before} to {rss(standalone)} KiB"


def test_storm_of_503(standalone):
    """Busy costs no retry, is asked again when the server said so, and under a new try of the key each time."""
    answers = [reply(b"", b"Retry-After: 1\r\n", status=b"503 No")] * 3 + [reply(OK)]
    server = Rude(answer=lambda c: c.sendall(answers[len(server.at) - 1]))
    standalone.api.job("storm", [{"step": "a", "url": server.url, "timeout": "5s"}])
    detail = standalone.api.ended(standalone.api.enqueue("storm"), 20)
    assert detail["state"] == "succeeded" and [a["class"] for a in detail["steps"][0]["attempts"]] == ["busy"] * 3 + ["success"]
    assert [a["try"] for a in detail["steps"][0]["attempts"]] == [1, 2, 3, 4] and len(server.keys) == 4
    assert all(0.95 < b - a < 3 for a, b in zip(server.at, server.at[1:])), server.at


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


def test_answer_that_nobody_asked_for_is_nobodys(standalone):
    """Two answers to one request: the second is not taken for the answer to the next call."""
    forged = reply(b'{"status":"success","result":"forged"}')
    server = Rude(answer=lambda c: c.sendall(reply(OK) + forged))
    standalone.api.job("split", [{"step": "a", "url": server.url}, {"step": "b", "url": server.url, "after": ["a"]},
                                 {"step": "c", "url": server.url, "after": ["b"]}])
    detail = standalone.api.ended(standalone.api.enqueue("split"))
    assert [s["result"] for s in detail["steps"]] == [1, 1, 1], detail


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")

    def openssl(*args):
        subprocess.run(["openssl", *args], cwd=folder, check=True, capture_output=True)

    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=test ca")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "request.pem", "-subj", "/CN=test")
    for name, days, host in (("good", "2", "IP:127.0.0.1"), ("expired", "-1", "IP:127.0.0.1"), ("other", "2", "DNS:other.example")):
        (folder / "extension").write_text(f"subjectAltName={host}\n", encoding="ascii")
        openssl("x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", days, "-extfile", "extension",
                "-out", f"{name}.pem")
    openssl("req", "-x509", "-key", "key.pem", "-out", "self.pem", "-days", "2", "-subj", "/CN=me", "-addext", "subjectAltName=IP:127.0.0.1")
    return folder


def test_tls(tmp_path, certificates):
    """Nothing is sent to whom the certificate does not vouch for."""
    server = Standalone(tmp_path / "data", "--set", f"dispatch.tls_ca={certificates / 'ca.pem'}").start()
    rows = {"good": (None, "success", None), "expired": (None, "not_sent", "expired"), "other": (None, "not_sent", "127.0.0.1"),
            "self": (None, "not_sent", "self"), "tls1": (ssl.TLSVersion.TLSv1, "not_sent", "")}
    try:
        servers, runs = {}, {}
        for name, (oldest, _, _) in rows.items():
            pem = certificates / f"{'good' if oldest else name}.pem"
            servers[name] = Rude(tls=tls_context(pem, certificates / "key.pem", oldest), **tell(OK))
            server.api.job(name, [{"step": "a", "url": servers[name].url, "timeout": "5s", "wait_timeout": "0s"}])
            runs[name] = server.api.enqueue(name)
        for name, (_, kind, piece) in rows.items():
            (attempt,) = server.api.ended(runs[name])["steps"][0]["attempts"]
            assert attempt["class"] == kind, (name, attempt)
            assert piece is None or piece in attempt["error"], (name, attempt["error"])
            assert sum(servers[name].keys.values()) == (kind == "success") and (attempt["bytes_sent"] > 0) == (kind == "success")
    finally:
        server.kill()


RESOLVER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* Names below .test are looked up in the file NAMES: "name address", a line each; every line of the name is an answer. */
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **ret)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) = dlsym(RTLD_NEXT, "getaddrinfo");
    size_t length = name ? strlen(name) : 0;
    if (length < 5 || strcmp(name + length - 5, ".test"))
        return real(name, service, hints, ret);
    FILE *file = fopen(getenv("NAMES"), "r");
    struct addrinfo **tail = ret;
    char known[200], address[200];
    *ret = NULL;
    while (file && fscanf(file, "%199s %199s", known, address) == 2)
        if (!strcmp(known, name) && real(address, service, hints, tail) == 0)
            while (*tail)
                tail = &(*tail)->ai_next;
    if (file)
        fclose(file);
    return *ret ? 0 : EAI_NONAME;
}
"""


@pytest.mark.skipif("asan" in os.environ.get("CARILLON_BINARY", "") or "tsan" in os.environ.get("CARILLON_BINARY", ""),
                    reason="a library loaded first does not go with sanitizers")
def test_names(tmp_path, executor):
    """Addresses are judged when they are known: names that lead to what must not be called, wholly or in part; a name that moves."""
    (tmp_path / "resolver.c").write_text(RESOLVER, encoding="ascii")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "resolver.so", "resolver.c", "-ldl"], cwd=tmp_path, check=True)
    names, port = tmp_path / "names", free_port()
    lines = ["fine.test 127.0.0.1", "metadata.test 169.254.169.254", "mapped.test ::ffff:169.254.169.254", "own.test 127.0.0.1",
             "both.test 169.254.169.254", "both.test 127.0.0.1", "moves.test 127.0.0.9", "many.test 240.0.0.1", "many.test 224.0.0.1"]
    names.write_text("\n".join(lines), encoding="ascii")
    server = Standalone(tmp_path / "data", port=port, env={"LD_PRELOAD": str(tmp_path / "resolver.so"), "NAMES": str(names)}).start()
    rows = {"fine": ("success", None), "metadata": ("not_sent", "refused: it is"), "mapped": ("not_sent", "refused: it is"), "own": ("not_sent", "refused: it is"),
            "both": ("success", None), "many": ("not_sent", "refused: it is"), "nobody": ("not_sent", "nobody.test"), "moves": ("not_sent", "")}
    try:
        runs = {}
        for name in rows:
            to = port if name == "own" else executor.port
            server.api.job(name, [{"step": "a", "url": f"http://{name}.test:{to}/{name}", "timeout": "5s", "wait_timeout": "0s"}])
            runs[name] = server.api.enqueue(name)
        for name, (kind, piece) in rows.items():
            (attempt,) = server.api.ended(runs[name])["steps"][0]["attempts"]
            assert attempt["class"] == kind and (piece is None or piece in attempt["error"]), (name, attempt)
            assert len(executor.of(f"/{name}")) == (kind == "success")
    finally:
        server.kill()
