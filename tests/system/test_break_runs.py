"""Jobs that are edited, paused, deleted, cancelled and stopped faster than anybody should: nothing missing, nothing doubled."""
import collections
import random
import signal
import threading
import time

from harness import Api, check_ledger, every, millis, rfc3339, until

PROJECT = "/projects/default"


def settle(api, jobs, seconds=60):
    api.post(f"{PROJECT}/jobs:pause", {"names": jobs})
    time.sleep(0.8)
    until(lambda: api.get(f"{PROJECT}/runs?state=queued,running&limit=1")["total"] == 0, seconds, "all runs to end")


def check(api, job, period):
    items = api.all(f"{PROJECT}/ledger?job={job}")
    runs = [i for i in items if i["outcome"] == "run"]
    first, last = millis(items[0]["scheduled_at"]), max(millis(i["scheduled_at"]) for i in runs)
    check_ledger([i for i in items if millis(i["scheduled_at"]) <= last], [("t", at) for at in every(0, period, first, last + 1)])
    return runs


def ticking(period):
    return [{"name": "t", "every": f"{period}ms", "align": True, "misfire": "all"}]


def test_edits_pauses_and_stops(standalone, executor):
    api, url = standalone.api, f"http://{executor.address}"
    many = {"overlap": "allow", "max_parallel": 1000}
    for job in ("edit", "pause", "stop"):
        api.job(job, [{"step": "a", "url": f"{url}/{job}"}], ticking(100), **many)
    end, n = time.monotonic() + 5, 0
    while time.monotonic() < end:
        n += 1
        api.job("edit", [{"step": "a", "url": f"{url}/edit?{n}"}], ticking(100), **many)
        for verb in ("pause", "resume"):
            api.post(f"{PROJECT}/jobs:{verb}", {"names": ["pause"]})
        time.sleep(0.08)
    for pause in (0.4, 3):
        standalone.signal(signal.SIGSTOP)
        time.sleep(pause)
        standalone.signal(signal.SIGCONT)
        time.sleep(0.8)
    settle(api, ["edit", "pause", "stop"])
    for job in ("edit", "pause", "stop"):
        runs = check(api, job, 100)
        keys = [c["key"] for c in executor.of(f"/{job}")]
        assert len(keys) == len(set(keys)) == len(runs), f"{job}: {len(runs)} runs, {len(keys)} calls, {len(set(keys))} keys"


def test_deleted_while_it_runs(standalone, executor):
    api, url = standalone.api, f"http://{executor.address}"
    executor.behave["/slow"] = lambda call: (time.sleep(0.8), {"status": "success"})[1]
    api.job("gone", [{"step": "a", "url": f"{url}/slow"}, {"step": "b", "url": f"{url}/after", "after": ["a"]}])
    run = api.enqueue("gone")
    until(lambda: executor.of("/slow"))
    api.call("DELETE", f"{PROJECT}/jobs/gone", ok=False)
    assert api.ended(run)["state"] == "succeeded" and len(executor.of("/after")) == 1
    for _ in range(15):
        api.job("again", [{"step": "a", "url": f"{url}/again"}], ticking(50), overlap="allow", max_parallel=50)
        time.sleep(0.12)
        api.call("DELETE", f"{PROJECT}/jobs/again", ok=False)
    time.sleep(0.4)
    before = len(executor.of("/again"))
    time.sleep(0.4)
    keys = [c["key"] for c in executor.of("/again")]
    assert len(keys) == before == len(set(keys)) > 0, "a deleted job fires on, or fired twice"


def test_cancel_storm(standalone, executor):
    api = standalone.api
    executor.behave["/long"] = lambda call: (time.sleep(0.5), {"status": "success"})[1]
    api.job("storm", [{"step": "a", "url": f"http://{executor.address}/long"}, {"step": "b", "url": f"http://{executor.address}/next", "after": ["a"]}],
            overlap="allow", max_parallel=1000)
    runs = [i["result"]["run"] for i in api.post(f"{PROJECT}/jobs:enqueue", {"names": ["storm"] * 200})["items"]]

    def cancel():
        mine = list(runs)
        for _ in range(3):
            random.shuffle(mine)
            Api(standalone.url, standalone.token).post(f"{PROJECT}/runs:cancel", {"ids": mine})

    threads = [threading.Thread(target=cancel) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    until(lambda: api.get(f"{PROJECT}/runs?state=queued,running&limit=1")["total"] == 0, 30, "all runs to end")
    states = collections.Counter(r["state"] for r in api.all(f"{PROJECT}/runs?job=storm"))
    assert sum(states.values()) == 200 and set(states) <= {"canceled", "succeeded"} and states["canceled"] > 0, states


def test_stampede(standalone, executor):
    """500 jobs on one instant, 2,000 enqueued at once: each is called once."""
    api, url = standalone.api, f"http://{executor.address}"
    at = (int(time.time()) + 5) * 1000
    documents = [{"apiVersion": "carillon/v1", "kind": "Job", "metadata": {"project": "default", "name": f"at{n}"},
                  "spec": {"graph": [{"step": "a", "url": f"{url}/at"}], "triggers": [{"name": "t", "at": rfc3339(at)}]}} for n in range(500)]
    api.post("/apply", {"documents": documents})
    assert time.time() * 1000 < at, "this machine is too slow for this test: the jobs were written too late"
    api.job("bulk", [{"step": "a", "url": f"{url}/bulk"}], overlap="allow", max_parallel=5000)
    for _ in range(2):
        api.post(f"{PROJECT}/jobs:enqueue", {"names": ["bulk"] * 1000})
    until(lambda: len(executor.of("/at")) >= 500 and len(executor.of("/bulk")) >= 2000, 60, "all calls")
    until(lambda: api.get(f"{PROJECT}/runs?state=queued,running&limit=1")["total"] == 0, 30, "all runs to end")
    for path, number in (("/at", 500), ("/bulk", 2000)):
        keys = [c["key"] for c in executor.of(path)]
        assert len(keys) == len(set(keys)) == number, (path, len(keys), len(set(keys)))
    assert api.get(f"{PROJECT}/runs?state=succeeded&limit=1")["total"] == 2500


def test_limit_of_fires_across_kills(standalone, executor):
    api = standalone.api
    api.job("seven", [{"step": "a", "url": f"http://{executor.address}/seven"}], [{"name": "t", "every": "50ms", "align": True, "max_fires": 7}],
            overlap="allow", max_parallel=100)
    for _ in range(4):
        time.sleep(0.1)
        standalone.kill()
        standalone.start()
    until(lambda: standalone.api.get(f"{PROJECT}/jobs/seven/status")["triggers"][0]["state"] == "complete", 20, "the trigger to be complete")
    until(lambda: standalone.api.get(f"{PROJECT}/runs?state=queued,running&limit=1")["total"] == 0, 20, "all runs to end")
    assert standalone.api.get(f"{PROJECT}/runs?job=seven")["total"] == 7 == len({c["key"] for c in executor.of("/seven")})
