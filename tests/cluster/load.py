"""The jobs of a chaos run: what each promises is known here, by kind, so that the checker needs no document of the product's."""
import time

from harness import rfc3339

# kind: (share of the jobs in percent, trigger, query of the call, members of the job). A trigger is ("every"|"delay", ms) or
# ("cron", seconds of a minute's step).
KINDS = {
    "fast": (50, ("every", 1000), "", {"overlap": "allow", "max_parallel": 1000}),
    "cron": (10, ("cron", 2), "", {"overlap": "allow", "max_parallel": 1000}),
    "never": (8, ("every", 1000), "", {"overlap": "allow", "max_parallel": 1000}),
    "slow": (6, ("every", 2000), "slow=1500", {"overlap": "allow", "max_parallel": 1000}),
    "async": (6, ("every", 2000), "async=1200", {"overlap": "allow", "max_parallel": 1000}),
    "flaky": (6, ("every", 2000), "fail=30", {"overlap": "allow", "max_parallel": 1000}),
    "delay": (5, ("delay", 1000), "", {}),
    "skip": (4, ("every", 1000), "slow=1500", {"overlap": "skip"}),
    "replace": (3, ("every", 3000), "slow=4000", {"overlap": "replace"}),
    "graph": (2, ("every", 4000), "", {"overlap": "allow", "max_parallel": 1000}),
}
TEN = {"a": [], "b": ["a"], "c": ["a"], "d": ["a"], "e": ["b"], "f": ["b", "c"], "g": ["d"], "h": ["e", "f"], "i": ["g"], "j": ["h", "i"]}


class Job:
    def __init__(self, name, kind, start_ms):
        self.name, self.kind, self.start = name, kind, start_ms
        _, (self.trigger, self.period), self.query, self.members = KINDS[kind]
        self.steps = TEN if kind == "graph" else {"a": []}
        self.overlaps = self.members.get("overlap") == "allow"

    def document(self, url):
        query = f"?{self.query}" if self.query else ""
        graph = []
        for step, after in self.steps.items():
            node = {"step": step, "url": f"{url}/{self.name}/{step}{query}", "timeout": "15s", "connect_timeout": "2s"}
            if after:
                node["after"] = after
            if self.kind == "never":
                node["repeat"] = "never"
            else:  # what a fault leaves open is asked for again, under the same key
                node.update(on_failure="retry", retry={"max": 8, "delay": "200ms"})
            graph.append(node)
        trigger = {"name": "t", "misfire": "all"}
        if self.trigger == "every":
            trigger.update(every=f"{self.period}ms", start=rfc3339(self.start))
        elif self.trigger == "delay":
            trigger.update(delay=f"{self.period}ms")
        else:
            trigger.update(cron=f"0/{self.period} * * * * ?")
        return {"apiVersion": "carillon/v1", "kind": "Job", "metadata": {"name": self.name},
                "spec": {"graph": graph, "triggers": [trigger], **self.members}}

    def promised(self, begin, finish):
        """Instants in [begin, finish), reckoned here; none for a delay, whose instants depend on ends."""
        if self.trigger == "every":
            first = begin + (self.start - begin) % self.period
            return range(first, finish, self.period)
        if self.trigger == "cron":  # a step that divides 60 s: whole multiples since 1970
            step = self.period * 1000
            return range(begin + -begin % step, finish, step)
        return range(0)


def make(count):
    """`count` jobs over all kinds, phases spread evenly over their periods."""
    start = int(time.time()) * 1000 - 60_000
    shares = [kind for kind, (share, *_) in KINDS.items() for _ in range(share)]
    jobs, of_kind = [], {}
    for n in range(count):
        kind = shares[(n * 37) % 100]  # 37 and 100 have no common divisor: every kind early, shares exact per hundred
        k = of_kind[kind] = of_kind.get(kind, 0) + 1
        period = KINDS[kind][1][1]
        jobs.append(Job(f"{kind}{k}", kind, start + (k * 389) % max(period, 1)))
    return jobs


def define(api, jobs, url):
    for begin in range(0, len(jobs), 200):
        answer = api.post("/apply", {"documents": [j.document(url) for j in jobs[begin:begin + 200]]})
        assert all(item["ok"] for item in answer["items"]), answer


def pause(api, jobs):
    for begin in range(0, len(jobs), 500):
        answer = api.post("/projects/default/jobs:pause", {"names": [j.name for j in jobs[begin:begin + 500]]})
        assert all(item["ok"] for item in answer["items"]), answer
