"""Scheduler nodes by API and command line: shown, drained, brought back, forgotten; jobs moved by hand."""
import json
import os
import subprocess

import pytest

from harness import BINARY, Standalone


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    server = Standalone(tmp_path_factory.mktemp("schedulers") / "data").start()
    server.api.job("held", [{"step": "a", "kind": "noop"}])
    yield server
    server.kill()


def cli(server, *args, code=0):
    env = dict(os.environ, CARILLON_URL=server.url, CARILLON_TOKEN=server.token)
    out = subprocess.run([BINARY, *args], capture_output=True, text=True, timeout=60, check=False, env=env)
    assert out.returncode == code, f"{args}: ended with {out.returncode}, not {code}\n{out.stdout}{out.stderr}"
    return out


def test_one_node_is_shown(alone):
    text = cli(alone, "schedulers").stdout
    assert text.startswith("NODE") and "working" in text and "local" in text
    assert cli(alone, "schedulers", "list").stdout.split()[0] == "NODE"
    one = cli(alone, "schedulers", "local").stdout
    assert "working" in one and "slots with 1 jobs" in one
    assert "default/held" in cli(alone, "schedulers", "jobs", "local").stdout
    answer = json.loads(cli(alone, "schedulers", "jobs", "local", "--json").stdout)
    assert answer["total"] == 1 and answer["items"][0]["name"] == "held"
    shown = json.loads(cli(alone, "schedulers", "local", "--json").stdout)
    assert shown["version"] and shown["jobs"] == 1 and any(s["jobs"] == 1 for s in shown["held"])
    node = alone.api.get("/schedulers")["items"][0]
    assert node["state"] == "working" and node["role"] == "standalone" and node["wish"] == "working"


def test_what_is_refused(alone):
    cli(alone, "schedulers", "nobody", code=3)
    cli(alone, "schedulers", "jobs", "nobody", code=3)
    cli(alone, "schedulers", "drain", "nobody", code=3)
    assert "lives" in cli(alone, "schedulers", "forget", "local", code=4).stderr
    for words in (["drain"], ["jobs", "a", "b"], ["dry", "local"], ["move", "held"], ["move", "held", "--to", "x", "--shared"], ["list", "x"]):
        cli(alone, "schedulers", *words, code=2)
    cli(alone, "schedulers", "move", "held", "--to", "nobody", code=3)
    cli(alone, "schedulers", "move", "nothing", "--to", "local", code=3)
    cli(alone, "schedulers", "drain", "local", "--token", "wrong", code=1)


def test_the_only_node_is_drained_with_a_warning(alone):
    out = cli(alone, "schedulers", "drain", "local")
    assert "asked to drain local" in out.stdout and "nothing fires" in out.stderr
    node = alone.api.get("/schedulers/local")
    assert node["wish"] == "draining" and node["state"] in ("draining", "offline")
    assert "asked to work local: working" in cli(alone, "schedulers", "online", "local").stdout
    actions = [e["action"] for e in alone.api.get("/audit?limit=2")["items"]]
    assert actions == ["online", "drain"]


def test_completion_knows_the_actions(alone):
    script = cli(alone, "completion", "bash").stdout
    line = next(l for l in script.splitlines() if l.strip().startswith("schedulers)"))
    for word in ("list", "jobs", "drain", "online", "forget", "move", "--wait", "--to"):
        assert word in line
