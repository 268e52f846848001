"""Broadcast, shard and map: one call an item, as the executors' own logs tell."""
import collections
import json
import os
import time

import pytest

from harness import Executor, Standalone, until


@pytest.fixture
def three():
    executors = [Executor() for _ in range(3)]
    yield executors
    for e in executors:
        e.close()


def application(api, executors, *tasks):
    api.put("/projects/default/apps/app", {"spec": {"instances": [e.address for e in executors],
                                                    "tasks": [{"name": t.strip("/"), "path": t} for t in tasks]}})


def step_of(run, name):
    return next(s for s in run["steps"] if s["step"] == name)


def test_a_broadcast_reaches_every_instance_once_and_repeats_only_what_failed(standalone, three):
    api, failures = standalone.api, collections.Counter()

    def second_time(call):
        failures[call["key"]] += 1
        return (500, {}) if len(failures) == 1 else {"status": "success", "result": "late"}

    three[1].behave["/all"] = second_time
    for i in (0, 2):
        three[i].behave["/all"] = lambda call, i=i: {"status": "success", "result": i}
    application(api, three, "/all", "/next")
    api.job("wide", [{"step": "a", "task": "app/all", "routing": "broadcast", "retry": {"max": 2, "delay": "0s"},
                      "params": {"shard": "${shard.index}/${shard.total}"}},
                     {"step": "b", "task": "app/next", "after": ["a"], "params": {"got": "${steps.a.result}"}}])
    run = api.ended(api.enqueue("wide"))
    assert run["state"] == "succeeded", run
    step = step_of(run, "a")
    assert [i["value"] for i in step["items"]] == [e.address for e in three]
    assert [i["state"] for i in step["items"]] == ["succeeded"] * 3
    assert [len(e.of("/all")) for e in three] == [1, 2, 1]
    for i, e in enumerate(three):
        call = e.of("/all")[0]
        assert json.loads(call["body"]) == {"shard": f"{i}/3"}
        assert (call["headers"]["X-Carillon-Shard-Index"], call["headers"]["X-Carillon-Shard-Total"]) == (str(i), "3")
        assert call["key"] == f"{run['id']}.a.{i + 1}.1"
    assert three[1].of("/all")[1]["key"] == f"{run['id']}.a.2.2"
    (after,) = [c for e in three for c in e.of("/next")]
    assert json.loads(after["body"]) == {"got": [0, "late", 2]}


def test_a_map_holds_its_concurrency_and_tolerates_what_it_says(standalone, executor):
    api, now, most = standalone.api, [0], [0]

    def work(call):
        now[0] += 1
        most[0] = max(most[0], now[0])
        time.sleep(0.03)
        now[0] -= 1
        n = json.loads(call["body"])["n"]
        return {"status": "failure", "message": "odd"} if n in (3, 7) else {"status": "success", "result": n * n}

    executor.behave["/item"] = work
    executor.behave["/list"] = lambda call: {"status": "success", "result": [{"n": n} for n in range(1, 13)]}
    graph = [{"step": "list", "url": f"http://{executor.address}/list"},
             {"step": "each", "url": f"http://{executor.address}/item", "after": ["list"], "map": "${steps.list.result}",
              "params": {"n": "${item.n}"}, "concurrency": 3, "tolerate": "20%"}]
    api.job("mapped", graph)
    run = api.ended(api.enqueue("mapped"))
    step = step_of(run, "each")
    assert run["state"] == "succeeded" and "2 of 12 items failed" in step["error"], step
    assert step["result"] == [n * n if n not in (3, 7) else None for n in range(1, 13)]
    assert len(executor.of("/item")) == 12 and most[0] <= 3
    graph[1]["tolerate"] = 1
    api.job("strict", graph)
    run = api.ended(api.enqueue("strict"))
    assert run["state"] == "failed" and "2 of 12 items failed, 1 may" in step_of(run, "each")["error"]
    assert len(executor.of("/item")) < 12 + 11, "nothing begins after too many have failed"


def test_shards_go_on_after_the_process_was_killed(tmp_path, three):
    server = Standalone(tmp_path / "data").start()
    try:
        api = server.api
        application(api, three, "/part")
        for e in three:
            e.behave["/part"] = lambda call: time.sleep(0.5) or {"status": "success", "result": call["headers"]["X-Carillon-Shard-Index"]}
        api.job("parts", [{"step": "a", "task": "app/part", "shards": 7, "concurrency": 3}])
        run = api.enqueue("parts")
        until(lambda: sum(len(e.of("/part")) for e in three) >= 4, 10, "the second round of shards")
        server.kill()
        server = Standalone(tmp_path / "data").start()
        end = server.api.ended(run, 30)
        assert end["state"] == "succeeded", end
        step = step_of(end, "a")
        assert step["result"] == [str(i) for i in range(7)] and step["item_count"] == 7
        keys = collections.Counter(c["key"] for e in three for c in e.of("/part"))
        assert set(keys) == {f"{run}.a.{i}.1" for i in range(1, 8)}, "an outcome that was not known is asked under the same key"
        assert max(keys.values()) <= 2 and os.path.exists(tmp_path)
    finally:
        server.kill()
