"""The command line with bad input of all sorts: the right exit code, a word that helps, no hang."""
import contextlib
import os
import socket
import subprocess
import threading

from harness import BINARY, free_port


def carillon(*args, env=None, seconds=30, **kw):
    return subprocess.run([BINARY, *args], capture_output=True, timeout=seconds, check=False,
                          env=dict(os.environ, XDG_CONFIG_HOME="/nonexistent-carillon", **(env or {})), **kw)


def expect(code, word, *args, **kw):
    out = carillon(*args, **kw)
    text = out.stderr.decode(errors="replace")
    assert out.returncode == code and word in text, (args, out)


def test_bad_words():
    for code, word, *args in ((2, "carillon VERB"), (2, "nope", "nope"), (2, "--nope", "jobs", "--nope"), (2, "1 to 1000", "cron", "next", "* * * * *", "--count", "0"),
                              (2, "1 to 1000", "cron", "next", "* * * * *", "--count", "9" * 20), (2, "RFC 3339", "cron", "next", "* * * * *", "--from", "x"),
                              (2, "time zone", "cron", "next", "* * * * *", "--timezone", "x"), (2, "empty", "cron", "next", ""),
                              (2, "1024", "cron", "next", "a" * 100000), (2, "fields", "cron", "next", b"\xff\xfe"), (2, "closing", "render", "${x"),
                              (2, "bash", "completion", "zzz"), (2, "--role", "admin", "create-token", "--role", "zz"),
                              (2, "name of a project", "admin", "create-token", "--project", "'; drop table token;--"),
                              (5, "/nonexistent/carillon.db", "admin", "create-token", "--data", "/nonexistent"),
                              (78, "host:port", "standalone", "--listen", ":8420"), (78, "host:port", "standalone", "--listen", "127.0.0.1:99999"),
                              (78, "coordination.url", "scheduler", "--set", "store.url=mysql://u@127.0.0.1:1/d"),
                              (78, "dispatch.tls_ca", "standalone", "--set", "dispatch.tls_ca=/none/x.pem"),
                              (78, "password", "orchestrator", "--set", "store.url=mysql://u:secret@127.0.0.1:1/d", "--set", "coordination.url=zk://127.0.0.1:1/x")):
        expect(code, word, *args)


@contextlib.contextmanager
def stranger(answer):
    """Somebody else's server."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        def serve():
            with contextlib.suppress(OSError):
                while True:
                    c, _ = server.accept()
                    c.recv(4000)
                    c.sendall(answer)
                    c.close()

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_servers_that_are_none():
    def env(url, token="cr_x"):
        return {"CARILLON_URL": url, "CARILLON_TOKEN": token}

    dead = f"http://127.0.0.1:{free_port()}"
    for verb in (["jobs"], ["runs"], ["run", "x"], ["explain", "x"]):
        expect(5, "cannot reach", *verb, env=env(dead))
    with stranger(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>") as url:
        for verb in (["jobs"], ["runs"], ["run", "x"], ["explain", "x"], ["projects"], ["schedulers"]):
            expect(5, "not as Carillon", *verb, env=env(url))
    with stranger(b"garbage\r\n\r\n") as url:
        expect(5, "cannot reach", "jobs", env=env(url))
    expect(2, "http://", "jobs", env=env("ftp://h"))
    expect(2, "control characters", "jobs", env=env(dead, "a\r\nX-Evil: 1"))
    expect(2, "no name", "job", "../x", env=env(dead))


def test_output_that_cannot_be_written():
    with open("/dev/full", "w", encoding="ascii") as full:
        out = subprocess.run([BINARY, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=10, check=False)
    assert out.returncode == 1 and "could not be written" in out.stderr


def test_definitions_that_are_none(standalone, tmp_path):
    env = {"CARILLON_URL": standalone.url, "CARILLON_TOKEN": standalone.token}
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(12))
    job = "apiVersion: carillon/v1\nkind: Job\nmetadata: {name: x}\nspec: {graph: [{step: a, url: 'http://h/'}]}\n"
    for name, text, word in (("bomb", bomb, "aliases"), ("deep", "[" * 100000, "nested"), ("indent", "a:\n" + "".join(" " * i + "a:\n" for i in range(1, 500)), "nested"),
                             ("binary", "\x7f\x00\x01", "binary.yaml"), ("empty", "", "no documents"), ("twice", job.replace("kind: Job", "kind: Job\nkind: Job"), "twice"),
                             ("tag", job.replace("Job", "!!python/object:os.system x"), "tag"), ("merge", job.replace("{graph", "{<<: {a: 1}, graph"), "merge"),
                             ("big", "# " + "x" * (5 << 20) + "\n", "larger"), ("half", job + "---\n" + job.replace("name: x", "name: '-'"), "name")):
        path = tmp_path / f"{name}.yaml"
        path.write_text(text, encoding="utf-8")
        expect(2, word, "apply", "-f", str(path), env=env)
    expect(2, "larger", "apply", "-f", "/dev/zero", env=env)
    many = tmp_path / "many"
    many.mkdir()
    for n in range(1100):
        (many / f"{n}.yaml").write_text(job.replace("name: x", f"name: m{n}"), encoding="utf-8")
    expect(2, "1000", "apply", "-f", str(many), env=env)
    loop = tmp_path / "loop"
    loop.mkdir()
    (loop / "loop").symlink_to(loop)
    expect(2, "holds no", "apply", "-f", str(loop), env=env)
    assert standalone.api.get("/projects/default/jobs")["total"] == 0, "a faulty set was written in part"
