"""Faults at random over a loaded cluster, then the checker. `bench/chaos` and the tests drive it."""
import collections
import contextlib
import random
import threading
import time

import load
import requests
from checker import Check
from harness import Api, until
from nemeses import FAULTS


def now_ms():
    return int(time.time() * 1000)


class Watch:
    """Sees, four times a second, which boots are fenced and how many jobs nobody rules; keeps the time at which it saw it first."""

    def __init__(self, cluster):
        self.cluster, self.fenced, self.over = cluster, {}, threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()

    def _look(self):
        while not self.over.wait(0.25):
            with contextlib.suppress(Exception):  # the store is one of those that get killed
                for (boot,) in self.cluster.sql("SELECT boot FROM boot WHERE fenced = 1"):
                    self.fenced.setdefault(int(boot), now_ms())

    def stop(self):
        self.over.set()
        self.thread.join()


class Asker:
    """Enqueues a job over and over; what is acknowledged may not be lost, whatever happens, and what cannot be done is answered 503."""

    def __init__(self, cluster):
        self.cluster, self.acknowledged, self.answers, self.over = cluster, [], collections.Counter(), threading.Event()
        self.thread = threading.Thread(target=self._ask, daemon=True)
        self.thread.start()

    def _ask(self):
        n = 0
        while not self.over.wait(0.3):
            n += 1
            server = self.cluster.orchestrators[n % len(self.cluster.orchestrators)]
            with contextlib.suppress(requests.RequestException, KeyError, ValueError):
                answer = Api(server.url, self.cluster.token).call("POST", "/projects/default/jobs:enqueue", {"names": ["asked"]}, ok=False)
                item = answer.json()["items"][0] if answer.status_code == 200 else {"ok": False, "error": {"http": answer.status_code}}
                self.answers[200 if item["ok"] else item["error"]["http"]] += 1
                if item["ok"]:
                    self.acknowledged.append(item["result"]["run"])

    def stop(self):
        self.over.set()
        self.thread.join()


def prepare(cluster, count):
    jobs = load.make(count)
    load.define(cluster.api, jobs, cluster.executor_url)
    cluster.api.job("asked", [{"step": "a", "url": f"{cluster.executor_url}/asked/a", "timeout": "15s"}], overlap="allow", max_parallel=10000)
    return jobs


def settle(cluster, seconds=40):
    """All alive and every job ruled by somebody who is."""

    def ruled():
        return sum(cluster.owners().values()) == int(cluster.sql("SELECT COUNT(*) FROM job WHERE live = 1")[0][0]) and all(
            s.answers("/readyz") for s in cluster.schedulers.values())

    until(ruled, seconds, "every scheduler ready and every job ruled")


def strike(cluster, name, rng, history, say):
    entry = {"fault": name, "begin": now_ms(), "excuses": FAULTS[name]["excuses"]}
    say(f"{name} …")
    FAULTS[name]["run"](cluster, rng)
    entry["finish"] = now_ms()
    history.append(entry)


def finish(cluster, jobs, watch, asker, history, say):
    """Everything mended, all runs ended, and the verdict."""
    cluster.heal()
    say("mended; waiting until everything is ruled again")
    settle(cluster, 90)
    time.sleep(3)
    load.pause(cluster.api, jobs)
    asker.stop()
    time.sleep(2)
    with contextlib.suppress(AssertionError):  # what is still open is the checker's to tell
        until(lambda: cluster.sql("SELECT COUNT(*) FROM run WHERE state < 2")[0][0] == "0" and
              cluster.sql("SELECT COUNT(*) FROM request WHERE open_slot IS NOT NULL")[0][0] == "0", 120, "all runs to end")
    watch.stop()
    exec_windows = [(h["begin"], h["finish"] + 2000) for h in history if h["excuses"] == "exec"]
    check = Check(cluster, jobs, history, asker.acknowledged).run(watch.fenced, exec_windows)
    check.wrong += [f"{n} requests were answered {status}" for status, n in asker.answers.items() if status not in (200, 503)]
    return check


def run(cluster, seconds, seed, count, names=None, say=print, rest=(2, 10), once=False):
    """Loads, strikes for so many seconds (`once`: each of `names` one time, in order), returns (Check, history)."""
    rng = random.Random(seed)
    jobs = prepare(cluster, count)
    settle(cluster, 60)
    watch, asker, history = Watch(cluster), Asker(cluster), []
    time.sleep(5)
    names = names or [n for n, f in FAULTS.items() if cluster.clocks or not f["clocks"]]
    until_then, order = time.monotonic() + seconds, names[::-1] if once else []
    while order if once else time.monotonic() < until_then:
        if not order:
            order = rng.sample(names, len(names))
        strike(cluster, order.pop(), rng, history, say)
        time.sleep(rng.uniform(*rest))
    return finish(cluster, jobs, watch, asker, history, say), history
