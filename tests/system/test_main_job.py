"""The main job, standalone: a stranger's executor receives graphs in order, on time, once."""
import json
import time

from harness import check_ledger, doubled, every, millis, until

PLANES = "Grüße 日結 한국어 🎻𝄞 ‮rtl‬ \u00a0\ufeff \U0010ffff \"quoted\\ \t\n"


def app(api, *addresses, name="app", tasks=()):
    return api.put(f"/projects/default/apps/{name}", {"spec": {"instances": list(addresses), "tasks": list(tasks)}})


def test_graph_in_order_with_results(standalone, executor):
    executor.behave["/extract"] = lambda c: {"status": "success", "result": {"rows": 12345678901234567890, "text": PLANES}}
    executor.behave["/load"] = lambda c: b'{"any": "object", "rate": 1.50}'
    api = standalone.api
    app(api, executor.address, tasks=[{"name": n, "path": f"/{n}"} for n in ("extract", "post", "report")])
    api.job("close", [
        {"step": "extract", "task": "app/extract", "params": {"day": "${scheduled:yyyyMMdd}", "note": PLANES}},
        {"step": "fx", "url": f"http://{executor.address}/load"},
        {"step": "post", "task": "app/post", "after": ["extract", "fx"],
         "params": {"rows": "${steps.extract.result.rows}", "text": "${steps.extract.result.text}", "rate": "${steps.fx.result.rate}",
                    "given": "${params.given}"}},
        {"step": "report", "task": "app/report", "after": ["post"]},
    ])
    item = api.post("/projects/default/jobs:enqueue",
                    '{"names":["close"],"scheduled_at":"2026-11-30T23:30:00Z","params":{"given":{"b":1,"a":[9007199254740993]}}}')["items"][0]
    run = item["result"]["run"]
    detail = api.ended(run)
    assert detail["state"] == "succeeded", detail
    order = [c["path"] for c in executor.calls]
    assert sorted(order[:2]) == ["/extract", "/load"] and order[2:] == ["/post", "/report"]
    assert json.loads(executor.of("/extract")[0]["body"]) == {"day": "20261130", "note": PLANES}
    post = executor.of("/post")[0]
    body = json.loads(post["body"])
    assert body["rows"] == 12345678901234567890 and body["text"] == PLANES and body["given"] == {"b": 1, "a": [9007199254740993]}
    assert b"1.50" in post["body"] and b'{"b":1,"a":[9007199254740993]}' in post["body"], "texts arrive as they were written"
    assert executor.of("/report")[0]["body"] == b"{}"
    headers = {k.lower(): v for k, v in post["headers"].items()}
    assert headers["idempotency-key"] == f"{run}.post.0.1"
    assert headers["x-carillon-run"] == run and headers["x-carillon-job"] == "default/close" and headers["x-carillon-step"] == "post"
    assert headers["x-carillon-attempt"] == "1" and int(headers["x-carillon-epoch"]) > 0
    assert headers["x-carillon-scheduled-at"].startswith("2026-11-30T23:30:00") and headers["x-carillon-deadline"]
    assert headers["traceparent"].startswith("00-") and headers["webhook-id"] and headers["webhook-signature"].startswith("v1,")
    assert headers["user-agent"].startswith("carillon/") and headers["content-type"].startswith("application/json")
    step = {s["step"]: s for s in detail["steps"]}["post"]
    attempt = step["attempts"][0]
    assert attempt["n"] == 1 and attempt["class"] == "success" and attempt["http_status"] == 200
    assert attempt["instance"] == executor.address and attempt["idempotency_key"] == headers["idempotency-key"]
    assert json.loads(attempt["request"]) == body and attempt["bytes_sent"] > 0
    assert detail["fired_at"] and detail["zone"] == "UTC" and detail["origin"] == "manual" and detail["trigger"].startswith("manual-")


def test_every_second_and_ledger(standalone, executor):
    api = standalone.api
    start = time.time() * 1000
    api.job("tick", [{"step": "a", "url": f"http://{executor.address}/tick"}],
            [{"name": "t", "every": "500ms", "align": True}], overlap="allow")
    time.sleep(6)
    api.post("/projects/default/jobs:pause", {"names": ["tick"]})
    time.sleep(1.5)
    items = api.all("/projects/default/ledger?job=tick")
    runs = [i for i in items if i["outcome"] == "run"]
    assert len(runs) >= 10
    first, last = millis(items[0]["scheduled_at"]), max(millis(i["scheduled_at"]) for i in runs)
    assert start - 1 <= first <= start + 1500, "a created job fires within a second of the answer"
    promised = [("t", at) for at in every(0, 500, first, last + 1)]
    check_ledger([i for i in items if millis(i["scheduled_at"]) <= last], promised)
    until(lambda: all("answered" in c for c in executor.calls))
    assert len(executor.of("/tick")) == len(runs) and not doubled(executor.calls)


def test_failover_round_robin(standalone, executor):
    from harness import Executor, free_port
    second, dead = Executor(), free_port()
    api = standalone.api
    app(api, executor.address, f"127.0.0.1:{dead}", second.address, tasks=[{"name": "t", "path": "/t"}])
    api.job("spread", [{"step": "a", "task": "app/t"}], overlap="allow")
    runs = [api.enqueue("spread") for _ in range(12)]
    for run in runs:
        assert api.ended(run)["state"] == "succeeded"
    assert len(executor.of("/t")) + len(second.of("/t")) == 12
    assert len(executor.of("/t")) >= 3 and len(second.of("/t")) >= 3, "round-robin uses both"
    second.close()


def test_failure_classes_and_retry(standalone, executor):
    api = standalone.api
    seen = []

    def flaky(call):
        seen.append(call)
        return (500, {"e": 1}) if len(seen) < 3 else {"status": "success", "result": len(seen)}

    executor.behave["/flaky"] = flaky
    executor.behave["/no"] = lambda c: {"status": "failure", "code": "NO_STOCK", "message": "空"}
    api.job("retry", [{"step": "a", "url": f"http://{executor.address}/flaky", "on_failure": "retry", "retry": {"max": 3, "delay": "50ms"}}])
    detail = api.ended(api.enqueue("retry"))
    assert detail["state"] == "succeeded"
    attempts = detail["steps"][0]["attempts"]
    assert [a["class"] for a in attempts] == ["http_5xx", "http_5xx", "success"] and [a["try"] for a in attempts] == [1, 2, 3]
    api.job("cone", [
        {"step": "bad", "url": f"http://{executor.address}/no"},
        {"step": "after", "url": f"http://{executor.address}/after", "after": ["bad"]},
        {"step": "else", "url": f"http://{executor.address}/else", "after": [{"step": "bad", "on": "failure"}]},
        {"step": "other", "url": f"http://{executor.address}/other"},
    ])
    detail = api.ended(api.enqueue("cone"))
    states = {s["step"]: s["state"] for s in detail["steps"]}
    assert states["bad"] == "failed" and states["after"] == "skipped" and states["else"] == "succeeded" and states["other"] == "succeeded"


def test_cancel_pause_resume(standalone, executor):
    api = standalone.api
    executor.behave["/slow"] = lambda c: time.sleep(3) or {"status": "success"}
    api.job("slow", [{"step": "a", "url": f"http://{executor.address}/slow"}])
    run = api.enqueue("slow")
    until(lambda: executor.of("/slow"))
    item = api.post("/projects/default/runs:cancel", {"ids": [run]})["items"][0]
    assert item["ok"]
    detail = api.ended(run, 3)
    assert detail["state"] == "canceled" and detail["error"]["code"] == "SCHEDULING_CONFLICT_003"
    again = api.post("/projects/default/runs:cancel", {"ids": [run]})["items"][0]
    assert not again["ok"] and again["error"]["code"] == "SCHEDULING_NOTFOUND_004"
    api.job("beat", [{"step": "a", "url": f"http://{executor.address}/beat"}], [{"every": "200ms"}], overlap="allow")
    until(lambda: len(executor.of("/beat")) > 2)
    api.post("/projects/default/jobs:pause", {"names": ["beat"]})
    time.sleep(1)
    count = len(executor.of("/beat"))
    time.sleep(1)
    assert len(executor.of("/beat")) == count, "a paused job fires nothing"
    assert api.ended(api.enqueue("beat"))["state"] == "succeeded", "but runs by hand"
    api.post("/projects/default/jobs:resume", {"names": ["beat"]})
    until(lambda: len(executor.of("/beat")) > count + 3)


def test_edit_rules_within_a_second(standalone, executor):
    api = standalone.api
    api.job("edit", [{"step": "a", "url": f"http://{executor.address}/old"}], [{"every": "100ms"}], overlap="allow")
    until(lambda: executor.of("/old"))
    api.job("edit", [{"step": "a", "url": f"http://{executor.address}/new"}], [{"every": "100ms"}], overlap="allow")
    edited = time.time()
    until(lambda: executor.of("/new"), 2)
    assert executor.of("/new")[0]["at"] - edited < 1
    time.sleep(1)
    late = [c for c in executor.of("/old") if c["at"] > edited + 1]
    assert not late, "the old version fired more than a second after the answer"


def test_unreachable_target_waits_with_a_reason(standalone):
    from harness import free_port
    api = standalone.api
    api.job("nobody", [{"step": "a", "url": f"http://127.0.0.1:{free_port()}/x"}])
    run = api.enqueue("nobody")
    detail = until(lambda: (d := api.run(run)) and d["steps"][0]["reason"] and d, 10, "a waiting reason")
    assert detail["state"] == "running" and detail["steps"][0]["state"] == "waiting"
    explain = api.get("/projects/default/jobs/nobody/explain")
    assert explain["waiting"] and explain["waiting"][0]["run"] == run


def test_url_answers_of_all_kinds(standalone, executor):
    api = standalone.api
    executor.behave["/text"] = lambda c: b"plain text, no JSON"
    executor.behave["/moved"] = lambda c: (302, {}, {"Location": "/text"})
    executor.behave["/missing"] = lambda c: (404, {"e": 1})
    expected = {"/text": ("succeeded", "success"), "/moved": ("failed", "http_3xx"), "/missing": ("failed", "http_4xx")}
    for path, (state, cls) in expected.items():
        api.job("kind", [{"step": "a", "url": f"http://{executor.address}{path}"}])
        detail = api.ended(api.enqueue("kind"))
        assert (detail["state"], detail["steps"][0]["attempts"][-1]["class"]) == (state, cls), path
    assert len(executor.of("/moved")) == 1 and len(executor.of("/text")) == 1, "redirects are not followed"


def test_requests_survive_a_stop(tmp_path, executor):
    from harness import Standalone
    server = Standalone(tmp_path / "data").start()
    server.api.job("later", [{"step": "a", "url": f"http://{executor.address}/later"}])
    run = server.api.enqueue("later")
    server.kill()
    server.start()
    assert server.api.ended(run)["state"] == "succeeded"
    assert len({c["key"] for c in executor.of("/later")}) == 1
    assert server.stop() == 0
