"""The command line, as people and scripts meet it: what it prints, what it ends with, what it does not lose."""
import json
import os
import re
import shutil
import subprocess
import time
import urllib.request

import pytest

from harness import BINARY, Executor, Standalone, until

SHOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/shop")
DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs")
ID = re.compile(r"\b\d{12,19}\b")


class Cli:
    """Runs the binary against one standalone, as a shell does."""

    def __init__(self, server, folder):
        self.env = dict(os.environ, XDG_CONFIG_HOME=str(folder / "config"), CARILLON_URL=server.url, CARILLON_TOKEN=server.token)
        self.folder, self.server = folder, server

    def __call__(self, *args, code=0, stdin=None, **env):
        out = subprocess.run([BINARY, *args], capture_output=True, text=True, timeout=60, check=False, input=stdin, cwd=self.folder,
                             env={k: v for k, v in {**self.env, **env}.items() if v is not None})
        assert out.returncode == code, f"{args}: ended with {out.returncode}, not {code}\n{out.stdout}{out.stderr}"
        return out

    def json(self, *args, code=0):
        return json.loads(self(*args, "--json", code=code).stdout)

    def file(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")
        return name


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    executor = Executor()
    server = Standalone(folder / "data").start()
    cli = Cli(server, folder)
    executor.behave["/fail"] = lambda call: {"status": "failure", "code": "E1", "message": "no luck today"}
    executor.behave["/slow"] = lambda call: time.sleep(3) or {"status": "success"}
    cli("apply", "-f", cli.file("all.yaml", f"""
kind: Application
metadata: {{name: app}}
spec:
  instances: ["{executor.address}"]
  tasks: [{{name: ok, path: /ok}}, {{name: fail, path: /fail}}, {{name: slow, path: /slow}}]
---
kind: Calendar
metadata: {{name: closed}}
spec: {{exclude: {{weekly: [SAT, SUN]}}}}
---
kind: Job
metadata: {{name: good, description: always well}}
spec: {{triggers: [{{name: yearly, cron: "0 0 0 1 1 ?", calendar: closed}}], graph: [{{step: a, task: app/ok}}, {{step: b, kind: noop, after: a}}]}}
---
kind: Job
metadata: {{name: bad}}
spec: {{graph: [{{step: a, task: app/fail}}]}}
---
kind: Job
metadata: {{name: slow}}
spec: {{overlap: skip, graph: [{{step: a, task: app/slow}}]}}
---
kind: Job
metadata: {{name: often}}
spec: {{triggers: [{{every: 500ms}}], graph: [{{step: a, task: app/ok}}]}}
"""))
    cli.executor = executor
    yield cli
    server.kill()
    executor.close()


def test_lists_in_both_forms(world):
    run = ID.search(world("run", "good", "--wait").stdout).group()
    for verb, heading, member, expected in (
            (["projects"], "PROJECT", "name", "default"), (["apps"], "APPLICATION", "name", "app"), (["tasks"], "APPLICATION", "name", "app/ok"),
            (["calendars"], "CALENDAR", "name", "closed"), (["jobs"], "JOB", "name", "good"), (["schedulers"], "NODE", "node", "local"),
            (["runs", "-j", "good"], "RUN", "id", run)):
        text = world(*verb).stdout
        assert text.startswith(heading) and re.search(rf"\b{re.escape(expected)}\b", text), text
        answer = world.json(*verb)
        assert expected in [item[member] for item in answer["items"]] and answer["total"] >= 1
    assert "nothing matches" in world("runs", "--state", "lost").stdout
    assert "1 of " in world("jobs", "--limit", "1").stdout


def test_one_job(world):
    assert "yearly" in world("job", "good").stdout and "app/ok" in world("job", "default/good").stdout
    assert world.json("job", "good")["spec"]["graph"][0]["step"] == "a"
    assert json.loads(world("job", "good", "--effective").stdout)["spec"]["overlap"] == "wait"
    assert "0 0 0 1 1 ?" in world("triggers", "good").stdout
    assert world.json("triggers", "good")["triggers"][0]["name"] == "yearly"
    text = world("explain", "good").stdout
    assert "held by scheduler local" in text and "will fire at" in text
    assert world.json("explain", "good")["owner"]["node"] == "local"
    world.server.api.ended(world.server.api.enqueue("often"))
    time.sleep(1)
    assert re.search(r"default +run +\d+", world("ledger", "often").stdout)
    assert world.json("ledger", "often", "--limit", "1")["items"][0]["outcome"] == "run"


def test_run_tells_how_it_ended(world):
    assert "succeeded" in world("run", "good", "--wait").stdout
    out = world("run", "bad", "--wait", code=1)
    assert "failed" in out.stdout and "step a" in out.stdout and "no luck today" in out.stdout
    run = ID.search(out.stdout).group()
    text = world("attempts", run).stdout
    assert "no luck today" in text and world.executor.address in text and "failure" in text
    assert world.json("attempts", run)["steps"][0]["attempts"][0]["code"] == "E1"
    assert world.json("run", "bad", "--wait", code=1)["items"][0]["result"]["state"] == "failed"
    assert world.json("run", "good", "--wait")["items"][0]["result"]["state"] == "succeeded"
    world("attempts", "1", code=3)


def test_a_canceled_run(world):
    waiting = subprocess.Popen([BINARY, "run", "slow", "--wait"], env=world.env, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 10
    while not (items := world.json("runs", "-j", "slow", "--state", "running")["items"]) and time.monotonic() < deadline:
        time.sleep(0.05)
    world("run", "slow", code=4)
    assert world.json("run", "slow", code=4)["items"][0]["error"]["code"] == "SCHEDULING_CONFLICT_001"
    assert "cancel asked for" in world("cancel", items[0]["id"]).stdout
    out, _ = waiting.communicate(timeout=20)
    assert waiting.returncode == 7 and "canceled" in out
    world("cancel", items[0]["id"], code=3)
    world.json("cancel", "1", code=3)


def test_a_run_is_named_with_its_project(world):
    run = world.json("run", "good", "--wait")["items"][0]["result"]["run"]
    assert "succeeded" in world("attempts", f"default/{run}").stdout
    world("logs", f"default/{run}")
    for verb in ("attempts", "logs", "cancel"):
        assert 'in project "elsewhere"' in world(verb, f"elsewhere/{run}", code=3).stderr
    assert "one project at a time" in world("cancel", f"default/{run}", f"elsewhere/{run}", code=2).stderr


def test_progress_of_a_running_step(world):
    def work(call):
        report = urllib.request.Request(call["headers"]["X-Carillon-Callback"].split(",")[0].strip(), method="POST",
                                        headers={"Content-Type": "application/json"},
                                        data=b'{"state":"running","progress":60,"message":"page 4","within":"30s"}')
        urllib.request.urlopen(report, timeout=10).close()
        time.sleep(3)
        return {"status": "success"}

    world.executor.behave["/pages"] = work
    world("apply", "-f", world.file("pages.yaml", f"""
kind: Job
metadata: {{name: pages}}
spec: {{graph: [{{step: a, url: "http://{world.executor.address}/pages"}}]}}
"""))
    run = ID.search(world("run", "pages").stdout).group()
    until(lambda: "60%: page 4" in world("attempts", run).stdout, 10)
    assert f"cancel asked for {run}\n" == world("cancel", run).stdout
    until(lambda: "60%" not in world("attempts", run).stdout, 10)


def test_schedules_are_told_apart(world):
    world("apply", "-f", world.file("kinds.yaml", """
kind: Job
metadata: {name: kinds}
spec:
  triggers: [{name: a, every: 7h}, {name: b, delay: 7h}, {name: c, at: "2099-01-01T00:00:00Z"}, {name: d, cron: "0 0 1 1 *"}]
  graph: [{step: a, kind: noop}]
"""))
    for text in (world("triggers", "kinds").stdout, world("apply", "kinds.yaml").stdout):
        for words in ("every 7h", "delay 7h", "at 2099-01-01T00:00:00", "0 0 1 1 *"):
            assert words in text, text


def test_a_drained_holder_is_named(tmp_path):
    server = Standalone(tmp_path / "data").start()
    try:
        cli = Cli(server, tmp_path)
        cli("apply", "-f", cli.file("j.yaml", "kind: Job\nmetadata: {name: j}\nspec: {triggers: [{every: 1h}], graph: [{step: a, kind: noop}]}\n"))
        until(lambda: cli.json("explain", "j")["owner"], 10)
        assert "is draining" not in cli("explain", "j").stdout
        assert "not waited for" in cli("schedulers", "drain", "local", "--wait", code=6).stderr  # at once: nobody can take its slots
        until(lambda: "local is draining" in cli("explain", "j").stdout, 10)
    finally:
        server.stop()


def test_requests_carry_parameters(world):
    world.executor.calls.clear()
    world("apply", "-f", world.file("p.yaml", "kind: Job\nmetadata: {name: params}\nspec: {params: {a: 1, b: old}, graph: [{step: a, task: app/ok, "
                                              "params: {all: \"${params}\"}}]}\n"))
    world("run", "params", "--wait", "--params", '{"n":123456789012345678901234567890}', "--param", "b=new text", "--param", "f=0.10")
    body = [call["body"] for call in world.executor.of("/ok") if b"all" in call["body"]][-1]  # the job "often" calls it, too
    assert b"123456789012345678901234567890" in body and b"0.10" in body
    assert json.loads(body)["all"] == {"a": 1, "b": "new text", "n": 123456789012345678901234567890, "f": 0.1}
    run = ID.search(world("enqueue", "params", "--scheduled-at", "2026-01-02T03:04:05Z").stdout).group()
    assert world.server.api.ended(run)["scheduled_at"] == "2026-01-02T03:04:05.000Z"
    assert world.json("enqueue", "params")["items"][0]["ok"]
    first, again = (ID.search(world("enqueue", "params", "--idempotency-key", "k1").stdout).group() for _ in range(2))
    assert first == again
    for args in (("--param", "x"), ("--params", "[1]"), ("--params", "{x:1}"), ("--scheduled-at", "tomorrow")):
        world("run", "params", *args, code=2)


def test_pause_and_resume(world):
    assert "paused" in world("pause", "good").stdout
    until(lambda: [j["name"] for j in world.json("jobs", "--state", "paused")["items"]] == ["good"], 5, "the job to be paused")
    assert "succeeded" in world("run", "good", "--wait").stdout
    assert "nothing of the pause will run" in world("resume", "good").stdout
    world("pause", "good", "--trigger", "yearly")
    until(lambda: world.json("triggers", "good")["triggers"][0]["paused"], 5, "the trigger to be paused")
    world("resume", "good", "--trigger", "yearly", "--skip-missed")
    assert world.json("pause", "good")["items"][0]["result"]["paused"] and world.json("resume", "good")["items"][0]["ok"]
    assert "no trigger" in world("pause", "good", "--trigger", "none", code=3).stderr
    world("pause", "nobody", code=3)


def test_apply_is_all_or_nothing(world):
    fine = "kind: Job\nmetadata: {name: %s}\nspec: {graph: [{step: a, kind: noop}]}\n"
    world.file("1-fine.yaml", fine % "half-1")
    world.file("2-bad.yaml", "---\n" + fine % "half-2" + "---\n\nkind: Job\nmetadata: {name: half-3}\nspec: {graph: [{step: a, task: app/nope}], "
               "triggers: [{cron: 61 * * * *}]}\n")
    err = world("apply", "-f", "1-fine.yaml", "-f", "2-bad.yaml", code=2).stderr
    assert "nothing was written" in err and re.search(r"2-bad\.yaml:\d+: spec\.triggers\[0\]\.cron: .*61", err) and "nope" in err, err
    world("job", "half-1", code=3)
    err = world("apply", "1-fine.yaml", "no-such.yaml", code=2).stderr
    assert "no-such.yaml" in err and "nothing was written" in err
    world("job", "half-1", code=3)
    assert "would be created" in world("apply", "1-fine.yaml", "--dry-run").stdout
    world("job", "half-1", code=3)
    assert world.json("apply", "1-fine.yaml")["items"][0]["result"]["created"]
    assert "unchanged Job default/half-1" in world("apply", "1-fine.yaml").stdout
    world("apply", code=2)
    world("apply", "-f", "-", stdin="{", code=2)
    assert "changed" in world("apply", "-f", "-", stdin=(fine % "half-1").replace("noop", "noop, on: always, after: []")).stdout
    world("apply", "-f", world.file("task.yaml", "kind: Job\nmetadata: {name: t}\nspec: {graph: [{step: a, task: app/nope}]}\n"), code=2)


def test_examples_apply_as_a_folder(world):
    assert "created Job shop/close-books" in world("apply", "-f", SHOP).stdout
    assert "next 2" in world("apply", "-f", SHOP).stdout
    world("lint", SHOP)
    assert "close-books" in world("jobs", "-p", "shop").stdout
    world("pause", "shop/close-books")


def test_diff(world):
    text = "kind: Job\nmetadata: {name: differ}\nspec: {timeout: %s, graph: [{step: a, kind: noop}]}\n"
    name = world.file("d.yaml", text % "1h")
    assert "created" in world("diff", name, code=1).stdout
    world("apply", name)
    assert "unchanged" in world("diff", name).stdout
    world.file("d.yaml", text % "2h")
    assert '~ spec.timeout: "1h" → "2h"' in world("diff", name, code=1).stdout
    world("diff", "no-such.yaml", code=2)


def test_lint_needs_no_server_and_agrees_with_apply(world):
    def lint(text, code):
        return world("lint", world.file("l.yaml", text), code=code, CARILLON_URL=None, CARILLON_TOKEN=None)

    assert "1 document, no fault" in lint("kind: Job\nmetadata: {name: x}\nspec: {graph: [{step: a, kind: noop}]}\n", 0).stdout
    bad = lint("kind: Job\nmetadata: {name: x}\nspec:\n  triggers: [{cron: 61 * * * *, timezone: Europe/Berlinn}]\n"
               "  graph: [{step: a, kind: noop, after: b}, {step: b, kind: noop, after: a}]\n", 2).stdout
    for part in ("l.yaml:1: spec.triggers[0].cron", "Berlinn", "a → b → a"):
        assert part in bad, bad
    lint("kind: Job\nmetadata: {name: x\n", 2)
    assert "every file is empty" in lint("# nothing yet\n", 2).stderr
    assert "a tab cannot indent" in lint("kind: Job\nmetadata:\n\tname: x\n", 2).stderr
    assert "needs quotes" in lint("kind: Job\nmetadata: {name: x}\nspec: {triggers: [{cron: * * * * *}]}\n", 2).stderr
    world("lint", code=2)


def test_export_goes_back_unchanged(world):
    world("apply", "-f", world.file("e.yaml", """
kind: Job
metadata: {name: exact, description: "日本 \\" \\\\ é"}
spec:
  params: {n: 123456789012345678901234567890, z: 1e400, f: 0.10, y: 010, "no": yes, b: {z: 1, a: 2}}
  graph: [{step: a, task: app/ok, params: {all: "${params}"}}]
"""))
    exported = world("export", "exact").stdout
    for part in ("123456789012345678901234567890", "1e400", "0.10", '"y":"010"', '"no":"yes"', '{"z":1,"a":2}', "日本"):
        assert part in exported, exported
    world.file("exact.json", exported)
    assert "unchanged" in world("diff", "exact.json").stdout
    world("lint", "exact.json")
    assert "deleted exact" in world("delete", "exact").stdout
    world("export", "exact", code=3)
    world("apply", "exact.json")
    assert world("export", "exact").stdout == exported
    for kind, name in (("app", "app"), ("calendar", "closed"), ("project", "default")):
        world.file("kind.json", world("export", "-k", kind, name).stdout)
        assert "unchanged" in world("diff", "kind.json").stdout
    assert "is used by job" in world("delete", "-k", "app", "app", code=4).stderr
    world("delete", "-k", "nothing", "app", code=2)


def test_what_a_newcomer_mistypes(world, tmp_path):
    for args, code, words in (
            (["foo"], 2, "no verb"), (["aply"], 2, 'did you mean "apply"'), (["--json", "jobs"], 2, "verb comes first"), (["jobs", "--nope"], 2, "--nope"), (["run"], 2, "usage"),
            (["runs", "--limit"], 2, "needs a value"), (["runs", "--limit", "0"], 2, "limit"), (["runs", "--state", "done"], 2, "succeeded"),
            (["jobs", "--state", "done"], 2, "suspended"), (["runs", "--from", "yesterday"], 2, "RFC 3339"), (["job", "a/b/c"], 2, "PROJECT/NAME"), (["jobs", "-p", "nowhere"], 3, "nowhere"),
            (["run", "nobody"], 3, "nobody"), (["jobs", "--token", "wrong"], 1, "token"), (["completion", "fish"], 2, "bash"),
            (["jobs", "--url", "http://127.0.0.1:1"], 5, "running there?"), (["cron", "next", "30 2 * *"], 2, "4 fields"),
            (["cron", "next", "0 30 2 * * *"], 2, "'?'"), (["render", "${shedule}"], 2, "did you mean scheduled"),
            (["admin", "create-token", "--role", "boss"], 2, "viewer")):
        err = world(*args, code=code).stderr
        assert words in err, (args, err)
    err = world("jobs", code=78, CARILLON_TOKEN=None, XDG_CONFIG_HOME=str(tmp_path)).stderr
    assert "carillon login" in err


def test_login_is_remembered(world, tmp_path):
    clean = {"CARILLON_TOKEN": None, "CARILLON_URL": None, "XDG_CONFIG_HOME": str(tmp_path)}
    assert "(admin)" in world("login", world.server.url, stdin=world.server.token + "\n", **clean).stdout
    assert oct((tmp_path / "carillon/context").stat().st_mode & 0o777) == "0o600"
    assert "good" in world("jobs", **clean).stdout
    world("login", world.server.url, stdin="wrong\n", code=1, **clean)
    assert "good" in world("jobs", **clean).stdout
    token = world("admin", "create-token", "--data", str(world.server.folder), "--role", "viewer").stdout.strip()
    assert "good" in world("jobs", CARILLON_TOKEN=token).stdout
    assert "role" in world("run", "good", code=1, CARILLON_TOKEN=token).stderr.lower()


def test_previews_need_no_server(world):
    away = {"CARILLON_URL": "http://127.0.0.1:1"}
    text = world("cron", "next", "0 30 2 * * ?", "-z", "Europe/Berlin", "--from", "2026-11-30T00:00:00Z", "-n", "1", **away).stdout
    assert text == "2026-11-30T01:30:00Z   Mon 2026-11-30 02:30:00 CET\n"
    text = world("render", '{"rows":"${steps.a.result.rows}","day":"${scheduled-1d:yyyyMMdd}"}', "--steps", '{"a":{"rows":12345678901234567890}}',
                 "--scheduled", "2026-03-01T00:00:00Z", **away).stdout
    assert text == '{"rows":12345678901234567890,"day":"20260228"}\n'


def test_help_everywhere(world):
    verbs = re.findall(r"^  ((?!carillon)[a-z-]+) +\S", world("help").stdout, re.M)
    assert len(verbs) > 25 and world("--help").stdout == world("help").stdout
    for verb in verbs:
        text = world(verb, "--help").stdout
        assert text.startswith(f"carillon {verb}") and text == world("help", verb).stdout
    world("help", "foo", code=2)
    with open(os.path.join(DOCS, "reference/cli.md"), encoding="utf-8") as f:
        assert f.read() == world("help", "--markdown").stdout, "carillon help --markdown > docs/reference/cli.md"


@pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash here")
def test_completion(world):
    def complete(*words):
        script = ('source <("$0" completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _carillon; printf "%s\\n" "${COMPREPLY[@]}"')
        out = subprocess.run(["bash", "-c", script, BINARY, "carillon", *words], capture_output=True, text=True, check=False, timeout=20,
                             cwd=world.folder)
        assert not out.stderr, out.stderr
        return out.stdout.split()

    assert complete("ex") == ["export", "explain"]
    assert complete("runs", "--st") == ["--state"] and complete("cron", "ne") == ["next"] and complete("help", "enq") == ["enqueue"]
    assert complete("apply", "-f", "all.y") == ["all.yaml"]


def test_another_zookeeper_is_adopted(world, services):
    database, zookeeper = services
    url, host = database.database("carillon_cli"), f"zk://127.0.0.1:{zookeeper.port}"
    away = {"CARILLON_STORE_PASSWORD": database.password}
    adopt = ("admin", "adopt-coordination", "--set", f"store.url={url}", "--set")
    cluster = world("admin", "create-token", "--set", f"store.url={url}", **away) and world(*adopt, f"coordination.url={host}/cli", **away)
    assert "from now on" in cluster.stdout
    assert "check coordination.url" in world(*adopt, "coordination.url=zk://127.0.0.1:1/cli", code=5, **away).stderr
    world("admin", "adopt-coordination", "--set", f"store.url={url}", code=78, **away)


def test_tokens_without_a_server(world):
    data = str(world.folder / "data")
    token = world("admin", "create-token", "--data", data, "--role", "operator", "--name", "robot").stdout.strip()
    line = next(l for l in world("admin", "tokens", "--data", data).stdout.splitlines() if " robot " in l)
    assert token not in line and " operator " in line
    world("projects", "--token", token)
    assert "taken back" in world("admin", "revoke-token", line.split()[0], "--data", data).stdout
    assert "before" in world("admin", "revoke-token", line.split()[0], "--data", data).stdout
    until(lambda: subprocess.run([BINARY, "projects", "--token", token], env=world.env, capture_output=True, check=False).returncode, 8, "the token to end")
    world("admin", "revoke-token", "99999", "--data", data, code=3)
    world("admin", "revoke-token", "x", "--data", data, code=2)
    world("admin", "revoke-token", "--data", data, code=2)
    world("admin", "tokens", "more", "--data", data, code=2)


def test_a_whole_project_goes_out_and_comes_back(world, tmp_path):
    text = world("export", "--all", "default").stdout
    assert text.count("---\n") == 1 + sum(world.json(kind)["total"] for kind in ("apps", "calendars", "jobs"))
    world.file("whole.yaml", text)
    world("apply", "-f", "whole.yaml")  # the project that exists from the start becomes a written one
    items = world.json("apply", "-f", "whole.yaml")["items"]
    assert items and all(item["ok"] and item["result"]["unchanged"] for item in items), [i for i in items if not i["result"]["unchanged"]]
    other = Standalone(tmp_path / "other").start()
    try:
        env = {"CARILLON_URL": other.url, "CARILLON_TOKEN": other.token}
        world("apply", "-f", "whole.yaml", **env)
        assert world("export", "--all", "default", **env).stdout == text
    finally:
        other.kill()
    world("export", "--all", "nothing", code=3)
