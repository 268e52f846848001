#!/usr/bin/python3
"""The main job under load: N jobs at one a second, evenly spread, for some minutes, on either store; then every promised instant,
recomputed here, is joined with the executor's log and the ledger.

    bench/main_job.py [--jobs 1000] [--seconds 300] [--store sqlite|mysql] [--stampede 5000]

Prints one JSON object: promised, missed, doubled, lateness percentiles at the executor (arrival − scheduled), and the rate.
--stampede N: N jobs due in the same second once, instead."""
import argparse
import collections
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [os.path.join(os.path.dirname(__file__), "../tests/system"), os.path.join(os.path.dirname(__file__), "../tests/lib")]
import harness  # noqa: E402
from harness import Api, Process, Standalone, free_port, millis  # noqa: E402
from servers import servers  # noqa: E402


def percentile(values, share):
    return values[min(len(values) - 1, int(len(values) * share))] if values else None


@contextlib.contextmanager
def platform(store, folder):
    if store == "sqlite":
        server = Standalone(os.path.join(folder, "data")).start()
        yield server.api, [server]
        server.stop(60)
        return
    with servers() as (db, zk):
        common = ["--set", f"store.url={db.database('carillon_bench')}", "--set", f"coordination.url=zk://127.0.0.1:{zk.port}/bench"]
        env = {"CARILLON_STORE_PASSWORD": db.password}
        token = subprocess.run([harness.BINARY, "admin", "create-token", *common, "--role", "admin"], check=True, capture_output=True,
                               text=True, env={**os.environ, **env}).stdout.strip()
        orchestrator = Process("orchestrator", *common, env=env).start()
        scheduler = Process("scheduler", *common, "--set", "scheduler.node_id=s1", env=env).start("/readyz", 30)
        yield Api(orchestrator.url, token), [scheduler, orchestrator]
        scheduler.stop(60)
        orchestrator.stop()


def define(api, count, trigger, url):
    for begin in range(0, count, 500):
        documents = [{"apiVersion": "carillon/v1", "kind": "Job", "metadata": {"name": f"job{n}"},
                      "spec": {"graph": [{"step": "a", "url": f"{url}/j{n}"}], "triggers": [dict(trigger, name="t")], "overlap": "allow"}}
                     for n in range(begin, min(count, begin + 500))]
        api.post("/apply", {"documents": documents})


def read_log(path):
    calls = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            what, at, key, *rest = line.split()
            if what != "C":
                continue
            scheduled, url = rest[:2]
            calls.append((int(at), key, millis(scheduled), url))
    return calls


def end_all(api, processes, sink, log):
    """Counts what did not succeed, stops the scheduler (its runs end), then the sink; returns the sink's log."""
    end_all.failed = api.get("/projects/default/runs?state=failed,lost,canceled&limit=1")["total"]
    processes[0].stop(60)
    sink.send_signal(signal.SIGTERM)
    sink.wait()
    return read_log(log)


def cpu_seconds(process):
    with open(f"/proc/{process.process.pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--store", choices=("sqlite", "mysql"), default="sqlite")
    parser.add_argument("--stampede", type=int, default=0)
    args = parser.parse_args()
    sink_binary = os.path.join(os.path.dirname(harness.BINARY), "bench_sink")
    with tempfile.TemporaryDirectory(prefix="carillon-bench-") as folder, platform(args.store, folder) as (api, processes):
        port, log = free_port(), os.path.join(folder, "sink.log")
        sink = subprocess.Popen([sink_binary, str(port), log])
        url = f"http://127.0.0.1:{port}"
        count = args.stampede or args.jobs
        if args.stampede:
            at = int(time.time()) + 20 + count // 400
            define(api, count, {"at": harness.rfc3339(at * 1000)}, url)
            time.sleep(max(0, at - time.time()) + 20)
            promised = {(f"/j{n}", at * 1000) for n in range(count)}
            calls = None
        else:
            define(api, count, {"every": "1s"}, url)
            time.sleep(5)
            begin = (int(time.time()) + 1) * 1000
            before = cpu_seconds(processes[0])
            time.sleep(args.seconds + 1.2)
            used = cpu_seconds(processes[0]) - before
            finish = begin + args.seconds * 1000
            time.sleep(3)
            calls = end_all(api, processes, sink, log)
            anchors = {}
            for _, _, scheduled, path in calls:
                anchors.setdefault(path, scheduled % 1000)
            promised = {(path, t) for path, a in anchors.items() for t in range(begin + a, finish, 1000)}
            missing_jobs = count - len(anchors)
        if calls is None:
            calls, missing_jobs, used = end_all(api, processes, sink, log), 0, None
        seen = collections.Counter((path, scheduled) for _, _, scheduled, path in calls)
        late = sorted(at - scheduled for at, _, scheduled, path in calls if (path, scheduled) in promised)
        result = {
            "store": args.store, "jobs": count, "seconds": None if args.stampede else args.seconds, "promised": len(promised),
            "missed": sum(1 for p in promised if p not in seen) + missing_jobs, "doubled": sum(1 for p in promised if seen[p] > 1),
            "late_ms": {"p50": percentile(late, 0.5), "p90": percentile(late, 0.9), "p99": percentile(late, 0.99), "max": late[-1] if late else None},
        }
        if args.stampede and late:
            result["drained_in_ms"] = late[-1] - late[0]
        if used is not None:
            result["cpu_share_of_one_core"] = round(used / args.seconds, 3)
        failed = result["runs_not_succeeded"] = end_all.failed
        print(json.dumps(result))
        return 1 if result["missed"] or result["doubled"] or failed else 0


if __name__ == "__main__":
    sys.exit(main())
