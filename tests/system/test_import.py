"""`carillon import crontab`: calls of curl and wget become jobs that run; everything else is named with the reason."""
import subprocess

from harness import BINARY

CRONTAB = """# the shop's
MAILTO=ops@example.com
*/5 * * * * curl -fsS http://HOST/ping >/dev/null 2>&1
CRON_TZ=Asia/Shanghai
30 2 * * MON-FRI /usr/bin/curl -s -X POST -H 'Authorization: Bearer a b' -H "X-Shop: 東京" -d '{"day":"x","n":18446744073709551616}' http://HOST/close?full=1 > /tmp/log
@daily wget -q -O - http://HOST/daily
0 3 * * * /usr/local/bin/backup.sh
0 4 * * * curl http://HOST/a | grep ok
0 5 * * * curl --cacert x.pem https://HOST/b
0 6 * * * curl -d a=1 http://HOST/c
0 7 * * * curl http://HOST/$(date)
@reboot curl http://HOST/d
nonsense
"""


def test_crontab(standalone, executor, tmp_path):
    (tmp_path / "crontab").write_text(CRONTAB.replace("HOST", executor.address), encoding="utf-8")
    done = subprocess.run([BINARY, "import", "crontab", str(tmp_path / "crontab"), "--timezone", "Europe/Berlin"], capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and "3 line(s) imported, 7 not" in done.stderr, done.stderr
    for number, reason in ((7, "make it a task of an executor"), (8, "more than one command"), (9, "--cacert"), (10, "no JSON"), (11, "variable"),
                           (12, "@reboot"), (13, "no line of a crontab")):
        assert any(f"crontab:{number}: not imported" in line and reason in line for line in done.stderr.splitlines()), (number, done.stderr)
    (tmp_path / "jobs.yaml").write_text(done.stdout, encoding="utf-8")
    subprocess.run([BINARY, "apply", "-f", str(tmp_path / "jobs.yaml"), "--url", standalone.url, "--token", standalone.token], check=True, capture_output=True, timeout=30)
    jobs = {j["name"]: j for j in standalone.api.get("/projects/default/jobs")["items"]}
    host = "127-0-0-1-" + str(executor.port)
    assert set(jobs) == {f"{host}-ping-line-3", f"{host}-close-line-5", f"{host}-daily-line-6"}
    zones = [standalone.api.get(f"/projects/default/jobs/{name}")["spec"]["triggers"][0]["timezone"] for name in sorted(jobs)]
    assert zones == ["Asia/Shanghai", "Asia/Shanghai", "Europe/Berlin"]
    for name in jobs:
        assert standalone.api.ended(standalone.api.enqueue(name))["state"] == "succeeded"
    close = executor.of("/close")[0]
    assert close["method"] == "POST" and close["path"] == "/close?full=1" and close["headers"]["Authorization"] == "Bearer a b"
    assert close["body"] == b'{"day":"x","n":18446744073709551616}'
    assert executor.of("/ping")[0]["method"] == "GET" and len(executor.of("/daily")) == 1


def test_what_is_no_crontab(tmp_path):
    def imported(text):
        (tmp_path / "tab").write_bytes(text)
        return subprocess.run([BINARY, "import", "crontab", str(tmp_path / "tab")], capture_output=True, timeout=20)

    call = b" * * * * curl http://h/x\n"
    for text, reason in ((b"99" + call, b"99"), (b"*/0" + call, b"0"), (b"@fortnightly curl http://h/x\n", b"fortnightly"),
                         (b"* * * * * curl http://h/\xff\n", b"UTF-8"), (b"* * * * * curl http://h/\0\n", b"NUL"),
                         (b"* * * * * curl http://h/x -d '{\"a\":\"" + b"* * * * * curl http://h/y\\n" * 5000 + b"\"}' | sh\n", b"more than one command")):
        done = imported(text)
        assert done.returncode == 1 and not done.stdout and b"0 line(s) imported, 1 not" in done.stderr and reason in done.stderr, (text[:40], done.stderr[-300:])
    done = imported(b"C=Europe/Paris\nT=Europe/Rome\n*" + call)
    assert done.returncode == 0 and b'timezone: "UTC"' in done.stdout
    for place in (tmp_path, tmp_path / "none"):
        done = subprocess.run([BINARY, "import", "crontab", str(place)], capture_output=True, text=True, timeout=20)
        assert done.returncode == 2 and str(place) in done.stderr, done.stderr
