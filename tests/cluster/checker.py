"""After Jepsen's test of Chronos: what was promised, reckoned by load.py, is compared with the executor's log and the store.

 missed    promised instants without a run and without a skip that the job's policy explains; runs whose steps never reached the executor
 doubled   two generation-0 runs of an instant; two calls of a step under different keys though the earlier one had no definite end;
           a second call of a step that forbids repeating
 lost      runs that have not ended, or ended otherwise than their kind allows; acknowledged requests without a run
 wrong     everything else that must not be: runs nobody promised, calls without a run, calls of a fenced boot, overlaps
 latest    the longest from an instant's time to its first call
 gap       the same, for instants that no fault of the store or of the way to the executor excuses (`excused` windows)
"""
import bisect
import collections

from harness import millis

QUEUED, RUNNING, SUCCEEDED, FAILED, CANCELED, LOST = range(6)
MISFIRE_MAX = 100  # the default
LINGER = 15_000  # of load.py's calls: their timeout
ALLOWED = {"never": {SUCCEEDED, LOST}, "flaky": {SUCCEEDED, FAILED}, "replace": {SUCCEEDED, CANCELED}}


def read_log(path):
    """calls: [ms, key, scheduled ms, path, attempt, epoch]; ends by key: [(ms, status or None)]."""
    calls, ends = [], collections.defaultdict(list)
    with open(path, encoding="utf-8") as f:
        for line in f:
            what, at, key, *rest = line.split()
            if what == "C" and key != "-":
                calls.append((int(at), key, millis(rest[0]), rest[1], int(rest[2]), int(rest[3])))
            elif what == "A":
                ends[key].append((int(at), int(rest[0])))
            elif what == "R":
                ends[key].append((int(at), 200 if rest[0] == "200" else None))
            elif what == "G":
                ends[key].append((int(at), None))
    calls.sort()
    return calls, ends


class Windows:
    """Spans of time, asked whether one touches [a, b]."""

    def __init__(self, spans):
        self.spans = sorted(spans)

    def touch(self, a, b):
        return any(begin <= b and a <= finish for begin, finish in self.spans)


class Check:
    def __init__(self, cluster, jobs, faults=(), acknowledged=()):
        self.cluster, self.jobs, self.acknowledged = cluster, jobs, acknowledged
        self.missed, self.doubled, self.lost, self.wrong = [], [], [], []
        self.excused = Windows([(f["begin"], f["finish"] + {"exec": 20_000}.get(f["excuses"], 8000)) for f in faults if f.get("excuses")])
        self.latest = self.gap = 0
        self.gap_of = self.latest_of = None
        self.promised = 0
        self.states = collections.Counter()

    # ---- facts --------------------------------------------------------------------------------------------------------------------

    def read(self):
        sql = self.cluster.sql
        self.ids = {name: int(i) for i, name in sql("SELECT id, name FROM job WHERE live = 1")}
        self.activations = collections.defaultdict(list)
        for job, at, kind in sql("SELECT job, from_at, kind FROM activation ORDER BY from_at"):
            self.activations[int(job)].append((int(at), int(kind)))
        self.runs = collections.defaultdict(list)
        self.run_job = {}
        for run, job, trigger, generation, at, fired, ended, state, origin in sql(
                "SELECT id, job, trigger_name, generation, scheduled_at, fired_at, IFNULL(ended_at, 0), state, origin FROM run"):
            row = (int(at), int(run), int(generation), int(fired), int(ended), int(state), trigger, int(origin))
            self.runs[int(job)].append(row)
            self.run_job[int(run)] = (int(job), row)
        self.skips = collections.defaultdict(list)
        for job, begin, finish, count, reason in sql("SELECT job, from_at, to_at, skipped, reason FROM skip ORDER BY from_at"):
            self.skips[int(job)].append((int(begin), int(finish), int(count), reason))
        self.calls, self.ends = read_log(self.cluster.sink_log)
        self.first_call = {}
        self.of_step = collections.defaultdict(dict)
        for call in self.calls:
            run, step = call[1].split(".")[0], call[3].rsplit("/", 1)[-1]
            self.first_call.setdefault((int(run), step), call[0])
            self.of_step[(int(run), step)].setdefault(call[1], []).append(call)

    # ---- judgements ---------------------------------------------------------------------------------------------------------------

    def ruled(self, job):
        """[begin, finish) in which the job's schedule held, by its activations."""
        versions = [at for at, kind in self.activations[job] if kind == 0]
        pauses = [at for at, kind in self.activations[job] if kind == 1]
        return (versions[0] if versions else None), (pauses[-1] if pauses else None)

    def late(self, job, at, run):
        seen = self.first_call.get((run, "a"))
        if seen is None:
            return
        late = seen - at
        if late > self.latest:
            self.latest, self.latest_of = late, (job.name, at, run)
        if job.overlaps and late > self.gap and not self.excused.touch(at, seen):  # others catch up one after another
            self.gap, self.gap_of = late, (job.name, at, run)

    def check_instants(self, job):
        number = self.ids[job.name]
        begin, finish = self.ruled(number)
        if begin is None or finish is None:
            self.lost.append(f"{job.name}: never activated, or never paused at the end")
            return
        runs = {}
        for row in self.runs[number]:
            if row[2] == 0 and row[6] == "t":
                if row[0] in runs:
                    self.doubled.append(f"{job.name}: two runs of instant {row[0]}: {runs[row[0]][1]} and {row[1]}")
                runs[row[0]] = row
        skips = self.skips[number]
        starts = [s[0] for s in skips]
        counted = collections.Counter()
        for at in job.promised(begin, finish):
            self.promised += 1
            index = bisect.bisect_right(starts, at) - 1
            covering = [i for i in (index, index - 1) if i >= 0 and skips[i][0] <= at <= skips[i][1]]
            for i in covering:
                counted[i] += 1
            if at in runs:
                self.late(job, at, runs.pop(at)[1])
                if covering:
                    self.wrong.append(f"{job.name}: instant {at} is a run and a skip")
            elif not covering:
                self.missed.append(f"{job.name}: instant {at} is neither run nor skip")
            elif not self.explained(job, at, skips[covering[0]]):
                self.missed.append(f"{job.name}: instant {at} was skipped for {skips[covering[0]][3]}, which nothing explains")
        if job.trigger == "delay":
            self.check_delays(job, sorted(runs.values()), begin, finish)
        elif runs:
            self.wrong.append(f"{job.name}: runs that nobody promised: {sorted(runs)[:3]}")
        for i, skip in enumerate(skips):
            if skip[2] not in (counted[i], -1):
                self.wrong.append(f"{job.name}: skip {skip} counts other than {counted[i]}")

    def explained(self, job, at, skip):
        """Overlap: a run of the job was open then, or what it left at the executor lingered. Of a job that may overlap: it was so far
        behind that more than misfire_max of its runs waited."""
        if skip[3] != "overlap":
            return False
        if job.overlaps:
            return sum(1 for row in self.runs[self.ids[job.name]] if row[0] < at < row[4]) > 0.9 * MISFIRE_MAX
        slack = 2000
        return any(row[3] - slack <= at <= row[4] + slack + (0 if row[5] == SUCCEEDED else LINGER)
                   for row in self.runs[self.ids[job.name]])

    def check_delays(self, job, rows, begin, finish):
        """Each instant is not before the end of the one before, plus the delay; and the chain does not stand still."""
        due = begin + job.period
        for row in rows:
            self.promised += 1
            if row[0] < due - 1:
                self.doubled.append(f"{job.name}: instant {row[0]} before its time {due}")
            self.late(job, max(due, 0), row[1])
            due = row[4] + job.period
        if due < finish - 15_000 and not self.excused.touch(due, finish):
            self.missed.append(f"{job.name}: stood still since {due}")

    def check_runs(self, job):
        allowed = ALLOWED.get(job.kind, {SUCCEEDED})
        for row in self.runs[self.ids[job.name]]:
            self.states[row[5]] += 1
            if row[5] in (QUEUED, RUNNING):
                self.lost.append(f"{job.name}: run {row[1]} has not ended")
            elif row[5] not in allowed:
                self.lost.append(f"{job.name}: run {row[1]} ended with state {row[5]}")
            elif row[5] == SUCCEEDED:
                for step in job.steps:
                    if (row[1], step) not in self.of_step:
                        self.missed.append(f"{job.name}: run {row[1]} succeeded, but its step {step} never came to the executor")

    def check_calls(self, kinds):
        for (run, step), keys in self.of_step.items():
            if run not in self.run_job:
                self.wrong.append(f"a call of run {run}, which the store does not know")
                continue
            kind = kinds.get(self.run_job[run][0], "")
            tries = sorted(keys, key=lambda k: int(k.rsplit(".", 1)[1]))
            for before, after in zip(tries, tries[1:]):
                first = min(c[0] for c in keys[after])
                ended = [at for at, status in self.ends[before] if status is not None and at <= first]
                if not ended:
                    self.doubled.append(f"run {run} step {step}: key {after} though {before} had no definite end")
            if kind == "never" and sum(len(c) for c in keys.values()) > 1:
                self.doubled.append(f"run {run} step {step}: repeated though that is forbidden")

    def check_fences(self, fenced, excused):
        """Nothing new of a boot reaches the executor once its fence was seen in the store (and a little: what was on the wire)."""
        late = collections.Counter()
        for at, key, _, _, _, epoch in self.calls:
            if epoch in fenced and at > fenced[epoch] + 1500 and not excused.touch(fenced[epoch], at):
                late[epoch] += 1
                self.wrong.append(f"call {key} of boot {epoch} came {at - fenced[epoch]} ms after its fence")
        return late

    def check_overlaps(self, jobs):
        """Jobs of one run at a time: no two runs of theirs are at work at the executor at once (a call whose caller died lingers)."""
        count = 0
        for job in jobs:
            if job.kind not in ("skip", "delay"):
                continue
            spans = []
            for row in self.runs[self.ids[job.name]]:
                for key, calls in self.of_step.get((row[1], "a"), {}).items():
                    answered = [at for at, status in self.ends[key] if status is not None]
                    spans.append((calls[0][0], min(answered) if answered else calls[0][0], row[1]))
            spans.sort()
            for before, after in zip(spans, spans[1:]):
                if before[2] != after[2] and after[0] < before[1] - 50:
                    count += 1
        return count

    def run(self, fenced=None, exec_windows=()):
        self.read()
        kinds = {self.ids[j.name]: j.kind for j in self.jobs}
        for job in self.jobs:
            self.check_instants(job)
            self.check_runs(job)
        self.check_calls(kinds)
        self.check_fences(fenced or {}, Windows(exec_windows))
        self.overlapped = self.check_overlaps(self.jobs)
        for run in self.acknowledged:
            if int(run) not in self.run_job:
                self.lost.append(f"acknowledged request {run} has no run")
        return self

    def report(self):
        names = ("queued", "running", "succeeded", "failed", "canceled", "lost")
        return {"promised": self.promised, "missed": len(self.missed), "doubled": len(self.doubled), "lost": len(self.lost),
                "wrong": len(self.wrong), "overlapped": self.overlapped, "calls": len(self.calls), "acknowledged": len(self.acknowledged),
                "latest_s": round(self.latest / 1000, 2), "longest_gap_s": round(self.gap / 1000, 2),
                "runs": {names[s]: n for s, n in sorted(self.states.items())}}

    def faults(self):
        return self.missed + self.doubled + self.lost + self.wrong
