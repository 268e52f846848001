"""Faults. Each is a function of (cluster, rng) that breaks something, waits, and mends it; it returns nothing. EXCUSES tells what a
fault costs legitimately: "store" (nothing can be written), "exec" (calls do not arrive); such a window counts for `latest`, not for `gap`.
Everything is ended by Cluster.heal() too, so a fault that fails half-way harms nobody after it."""
import shutil
import signal
import subprocess
import time

FAULTS = {}


def fault(name, excuses=None, clocks=False, heavy=False):
    def keep(function):
        FAULTS[name] = {"run": function, "excuses": excuses, "clocks": clocks, "heavy": heavy}
        return function
    return keep


def pick(cluster, rng):
    return rng.choice([n for n, s in cluster.schedulers.items() if s.alive])


def back(cluster, node):
    if not cluster.schedulers[node].alive:  # the moment to kill it may not have come
        cluster.schedulers[node].launch()


# ---- processes --------------------------------------------------------------------------------------------------------------------

@fault("kill")
def kill(cluster, rng):
    """kill -9 of a scheduler, back after more or less than its session."""
    node = pick(cluster, rng)
    cluster.schedulers[node].kill()
    time.sleep(rng.choice([0.2, cluster.session / 3, cluster.session * 2]))
    back(cluster, node)


@fault("stop-long")
def stop_long(cluster, rng):
    """A zombie: stopped for longer than its session, then continued."""
    server = cluster.schedulers[pick(cluster, rng)]
    server.signal(signal.SIGSTOP)
    time.sleep(long(cluster, rng))
    server.signal(signal.SIGCONT)


@fault("stop-short")
def stop_short(cluster, rng):
    server = cluster.schedulers[pick(cluster, rng)]
    for _ in range(3):
        server.signal(signal.SIGSTOP)
        time.sleep(rng.uniform(0.2, 2))
        server.signal(signal.SIGCONT)
        time.sleep(0.5)


@fault("drain")
def drain(cluster, rng):
    """SIGTERM and a fresh process, as an upgrade does it."""
    node = pick(cluster, rng)
    cluster.schedulers[node].signal(signal.SIGTERM)
    try:
        cluster.schedulers[node].process.wait(60)
    except Exception:
        cluster.schedulers[node].kill()
    back(cluster, node)


@fault("storm", heavy=True)
def storm(cluster, rng):
    """All schedulers killed and started again, several times."""
    for _ in range(3):
        for node, server in cluster.schedulers.items():
            server.kill()
            back(cluster, node)
        time.sleep(rng.uniform(1, 4))


@fault("orchestrator")
def orchestrator(cluster, rng):
    server = rng.choice(cluster.orchestrators)
    server.kill()
    time.sleep(1)
    server.launch()


@fault("twin")
def twin(cluster, rng):
    """A second process with the id of a living node: it has to stay out."""
    node = pick(cluster, rng)
    other = cluster.scheduler(node, f"{node}-twin")
    other.launch()
    time.sleep(cluster.session + 4)
    other.kill()


# ---- moments around COMMIT and send -----------------------------------------------------------------------------------------------

def at_moment(cluster, rng, link, where, what, act):
    cluster.links(f"{link} catch {where} {what}")
    if cluster.links.caught(10):
        act()
    cluster.links(f"{link} flow")


def kill_at(where, what):
    def run(cluster, rng):
        node = pick(cluster, rng)
        link = f"{node}-db" if what == "commit" else cluster.exec_link(node)
        at_moment(cluster, rng, link, where, what, cluster.schedulers[node].kill)
        time.sleep(rng.choice([0.1, cluster.session + 3]))
        back(cluster, node)
    return run


fault("kill-before-commit")(kill_at("before", "commit"))
fault("kill-after-commit")(kill_at("after", "commit"))
fault("kill-before-call", "exec")(kill_at("before", "call"))
fault("kill-after-call", "exec")(kill_at("after", "call"))


@fault("kill-at-claim")
def kill_at_claim(cluster, rng):
    """The heir of a dead node dies, too, in the moment in which it claims."""
    first = pick(cluster, rng)
    heir = rng.choice([n for n in cluster.nodes if n != first])
    cluster.links(f"{heir}-zk* catch {rng.choice(['before', 'after'])} claim")
    cluster.schedulers[first].kill()
    if cluster.links.caught(cluster.session + cluster.tick + 4):
        cluster.schedulers[heir].kill()
    cluster.links(f"{heir}-zk* flow")
    time.sleep(rng.uniform(0, 3))
    back(cluster, first)
    if not cluster.schedulers[heir].alive:
        back(cluster, heir)


@fault("stop-in-transaction")
def stop_in_transaction(cluster, rng):
    """Stopped between BEGIN and COMMIT, its locks held: the take-over must not wait for it."""
    node = pick(cluster, rng)
    server = cluster.schedulers[node]
    cluster.links(f"{node}-db catch before commit")
    if cluster.links.caught(10):
        server.signal(signal.SIGSTOP)
        time.sleep(long(cluster, rng))
    cluster.links(f"{node}-db flow")
    server.signal(signal.SIGCONT)


@fault("lost-commit")
def lost_commit(cluster, rng):
    node = pick(cluster, rng)
    for _ in range(4):
        cluster.links(f"{node}-db swallow 1")
        time.sleep(1)
    cluster.links(f"{node}-db flow")


# ---- the network ------------------------------------------------------------------------------------------------------------------

def cut(links, command, seconds):
    def run(cluster, rng):
        link = links(cluster, pick(cluster, rng))
        cluster.links(f"{link} {command(rng)}")
        time.sleep(seconds(cluster, rng))
        cluster.links(f"{link} flow")
    return run


def long(cluster, rng):
    """Longer than a session lives, and the take-over takes."""
    return cluster.session + cluster.tick + 1 + rng.uniform(0.2, 1.2) * cluster.session


def short(_, rng):
    return rng.uniform(0.5, 3)


BOTH, ONE_WAY, REFUSE, RESET = (lambda _: "hold both"), (lambda rng: rng.choice(["hold up", "hold down"])), (lambda _: "refuse"), (lambda _: "reset")
SLOW, LOSSY = (lambda rng: f"slow {rng.choice([5, 20])} 20"), (lambda _: "lose 3")
TO_ZK, TO_DB = (lambda _, node: f"{node}-zk*"), (lambda _, node: f"{node}-db")

fault("zk-cut")(cut(TO_ZK, BOTH, long))
fault("zk-one-way")(cut(TO_ZK, ONE_WAY, long))
fault("zk-refuse")(cut(TO_ZK, REFUSE, long))
fault("zk-blink")(cut(TO_ZK, RESET, short))
fault("zk-slow")(cut(TO_ZK, SLOW, long))
fault("zk-lossy")(cut(TO_ZK, LOSSY, long))
fault("db-cut")(cut(TO_DB, BOTH, long))
fault("db-one-way")(cut(TO_DB, ONE_WAY, long))
fault("db-refuse")(cut(TO_DB, REFUSE, long))
fault("db-blink")(cut(TO_DB, RESET, short))
fault("db-slow")(cut(TO_DB, SLOW, long))
fault("db-lossy")(cut(TO_DB, LOSSY, long))
for _name, _what, _time in (("exec-cut", BOTH, long), ("exec-one-way", ONE_WAY, long), ("exec-refuse", REFUSE, short), ("exec-blink", RESET, short),
                            ("exec-lossy", LOSSY, long)):
    fault(_name, "exec")(cut(lambda cluster, node: cluster.exec_link(node), _what, _time))


@fault("island")
def island(cluster, rng):
    """A node that reaches neither ZooKeeper nor the store."""
    node = pick(cluster, rng)
    for link in ("zk*", "db"):
        cluster.links(f"{node}-{link} hold both")
    time.sleep(long(cluster, rng))
    for link in ("db", "zk*"):
        cluster.links(f"{node}-{link} flow")
        time.sleep(rng.uniform(0, 2))


# ---- services ---------------------------------------------------------------------------------------------------------------------

@fault("zk-leader")
def zk_leader(cluster, rng):
    member = cluster.zk.leader()
    if member:
        member.kill()
        time.sleep(rng.uniform(2, 10))
        member.launch()
        cluster.zk.wait()


@fault("zk-member-hangs")
def zk_member_hangs(cluster, rng):
    member = rng.choice(cluster.zk.members)
    member.process.send_signal(signal.SIGSTOP)
    time.sleep(long(cluster, rng))
    member.process.send_signal(signal.SIGCONT)


def zk_gone(cluster, seconds):
    for member in cluster.zk.members:
        member.kill()
    time.sleep(seconds)
    for member in cluster.zk.members:
        member.launch()
    cluster.zk.wait()


@fault("zk-away", heavy=True)
def zk_away(cluster, rng):
    zk_gone(cluster, rng.choice([5, 20, 60]))


@fault("db-kill", "store", heavy=True)
def db_kill(cluster, rng):
    cluster.db.process.kill()
    cluster.db.process.wait()
    time.sleep(rng.choice([1, 10, 30]))
    cluster.db.start()


@fault("db-hangs", "store")
def db_hangs(cluster, rng):
    cluster.db.process.send_signal(signal.SIGSTOP)
    time.sleep(rng.uniform(1, 12))
    cluster.db.process.send_signal(signal.SIGCONT)


@fault("db-read-only", "store")
def db_read_only(cluster, rng):
    cluster.db.sql("SET GLOBAL read_only=1")
    time.sleep(rng.uniform(2, 8))
    cluster.db.sql("SET GLOBAL read_only=0")


@fault("db-slow-disk", "store")
def db_slow_disk(cluster, rng):
    """Each sync of the store's disk takes 100 ms longer."""
    if not shutil.which("strace"):
        return
    tracer = subprocess.Popen(["strace", "-f", "-q", "-o", "/dev/null", "-p", str(cluster.db.process.pid), "-e", "trace=fsync,fdatasync",
                               "-e", "inject=fsync,fdatasync:delay_enter=100000"], stderr=subprocess.DEVNULL)
    time.sleep(rng.uniform(5, 15))
    tracer.send_signal(signal.SIGINT)
    tracer.wait(10)


@fault("db-all-reset", "store")
def db_all_reset(cluster, rng):
    for node in cluster.nodes:
        cluster.links(f"{node}-db reset")


@fault("both-away", "store", heavy=True)
def both_away(cluster, rng):
    cluster.db.process.kill()
    cluster.db.process.wait()
    zk_gone(cluster, rng.choice([3, 15]))
    cluster.db.start()


@fault("executor", "exec")
def executor(cluster, rng):
    cluster.sink.kill()
    time.sleep(rng.uniform(0.2, 4))
    cluster.sink.launch()


# ---- clocks -----------------------------------------------------------------------------------------------------------------------

@fault("clock", clocks=True)
def clock(cluster, rng):
    node = pick(cluster, rng)
    cluster.set_clock(node, rng.choice([-3600, 3600, -5, 5]))
    time.sleep(rng.uniform(5, 20))
    cluster.set_clock(node, 0)
