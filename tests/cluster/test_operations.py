"""What docs/operations.md tells operators, done: the least rights on the database, access lists in ZooKeeper, a rolling restart under load,
what strangers write into ZooKeeper, a wiped ZooKeeper and its adoption, and everything that is refused."""
import os
import shutil
import time

import chaos
import load
import pytest
from checker import Check
from cluster import Cluster
from harness import until
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError
from kazoo.security import make_digest_acl

# As they stand in docs/operations.md §2.
GRANTS = "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, INDEX ON carillon_chaos.* TO least@'%'"
SECRET = "carillon:a-secret-of-this-test"


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    auth = tmp_path_factory.mktemp("auth") / "zookeeper"
    auth.write_text(SECRET + "\n")
    os.chmod(auth, 0o600)
    settings = (f"coordination.auth_file={auth}", "retention.interval=1s", "scheduler.shutdown_grace=10s")
    one = Cluster(session=3, tick=500, members=1, settings=settings, grants=GRANTS)
    yield one.start()
    one.close()


@pytest.fixture(scope="module")
def jobs(c):
    jobs = [j for j in load.make(60) if j.kind in ("fast", "cron", "graph", "async", "never")]
    load.define(c.api, jobs, c.executor_url)
    chaos.settle(c)
    return jobs


def client(c, secret=SECRET):
    zk = KazooClient(f"127.0.0.1:{c.zk.members[0].port}", auth_data=[("digest", secret)] if secret else None)
    zk.start(10)
    return zk


def fires(c, jobs, seconds=15, what="fires"):
    before = len(open(c.sink_log, "rb").read())
    until(lambda: len(open(c.sink_log, "rb").read()) > before + 100 * len(jobs), seconds, what)


def test_the_least_rights_are_enough_and_named_in_the_guide(c):
    rights = GRANTS.split(" ON ")[0]
    with open(os.path.join(os.path.dirname(__file__), "../../docs/operations.md"), encoding="utf-8") as f:
        assert rights in f.read()
    assert c.sql("SELECT COUNT(*) FROM boot")[0][0] != "0"
    denied = [s.name for s in c.schedulers.values() if "lacks a right" in s.log() or "may not use" in s.log()]
    assert not denied


def test_rolling_restart_under_load(c, jobs):
    """Every scheduler in turn, as an upgrade does it: nothing lost, and the 99th percentile of lateness stays under a second."""
    begin = time.time() * 1000
    for node, server in c.schedulers.items():
        assert server.stop(40) == 0, server.log()[-2000:]
        server.start("/readyz")
        time.sleep(1.5)
    finish = time.time() * 1000
    check = Check(c, jobs)
    check.read()
    late = sorted(check.first_call[(row[1], "a")] - row[0] for job in jobs for row in check.runs[check.ids[job.name]]
                  if begin < row[0] < finish - 1000 and (row[1], "a") in check.first_call)
    assert len(late) > 100
    assert late[int(len(late) * 0.99)] < 1000, late[-20:]


def test_strangers_in_zookeeper_harm_nobody(c, jobs):
    """Without the secret nothing of ours can be read; with it, what cannot be understood is left alone and nobody dies of it."""
    stranger = client(c, None)
    for path in ("/chaos/cluster", "/chaos/nodes", "/chaos/claims"):
        with pytest.raises(NoAuthError):
            stranger.get(path)
    stranger.stop()
    friend = client(c)
    acl = [make_digest_acl(*SECRET.split(":"), all=True)]
    taken = set(friend.get_children("/chaos/claims"))
    free = [s for s in range(1000, 1024) if str(s) not in taken][:2]
    for path, data in (("/chaos/nodes/stranger", os.urandom(600)), ("/chaos/nodes/much", b"x" * 500_000), ("/chaos/claims/not-a-slot", b"{}"),
                       ("/chaos/nodes/0", b'{"boot":-1}'), ("/chaos/surprise", b"?"), *((f"/chaos/claims/{s}", os.urandom(50)) for s in free)):
        friend.create(path, data, acl=acl)
    friend.set("/chaos/nodes/s1", b"\xff\xfe not ours")
    time.sleep(2)
    fires(c, jobs, what="fires among strangers")
    assert all(s.alive for s in c.schedulers.values())
    assert friend.exists("/chaos/nodes/stranger"), "what is not ours is not deleted"
    for path in ("/chaos/nodes/stranger", "/chaos/nodes/much", "/chaos/nodes/0", "/chaos/claims/not-a-slot", "/chaos/surprise",
                 *(f"/chaos/claims/{s}" for s in free)):
        friend.delete(path)
    friend.stop()
    chaos.settle(c)


def test_refused_with_a_reason(c, tmp_path):
    twin = c.scheduler("s1", "s1-twin").launch()
    until(lambda: "another live process has joined with the node id" in twin.log(), 20, "the second process with a live id to be refused")
    assert c.schedulers["s1"].answers("/readyz")
    twin.kill()
    wrong = c.carillon("standalone", "--data", str(tmp_path / "data"), "--set", f"store.url={c.store}", "--listen", "127.0.0.1:0", ok=False)
    assert wrong.returncode == 78 and "store.url" in wrong.stderr
    c.db.sql("DROP DATABASE IF EXISTS carillon_other; CREATE DATABASE carillon_other CHARACTER SET utf8mb4 COLLATE utf8mb4_bin; "
             "GRANT ALL ON carillon_other.* TO least@'%'")
    other = c.scheduler("s1", "of-another-cluster")
    other.command = [w.replace("/carillon_chaos", "/carillon_other") for w in other.command]
    other.launch()
    until(lambda: "belongs to another cluster" in other.log(), 20, "a scheduler of another cluster to be refused")
    other.kill()
    other.command = [w.replace("/carillon_other", "/carillon_nowhere") for w in other.command]
    other.launch()
    assert other.process.wait(30) != 0 and "store" in other.log()


def test_wiped_zookeeper_is_refused_and_adopted(c, jobs):
    """Nothing is claimed on an empty ZooKeeper; owners go on firing; the operator adopts it, and epochs do not go backwards."""
    before = int(c.sql("SELECT generation FROM cluster")[0][0])
    member = c.zk.members[0]
    member.kill()
    shutil.rmtree(os.path.join(member.data, "version-2"))
    member.start()
    until(lambda: all("has been wiped or exchanged" in s.log() for s in c.schedulers.values()), 30, "every scheduler to refuse the empty service")
    fires(c, jobs, what="owners to go on firing")
    assert "adopt-coordination" in c.schedulers["s1"].log()
    for server in c.schedulers.values():
        server.kill()
    fresh = c.schedulers["s1"].launch()
    until(lambda: fresh.log().count("has been wiped or exchanged") > 1, 30, "a fresh start to be refused, too")
    fresh.kill()
    words = [w.replace(str(c.ports["s1"]["db"]), str(c.db.port)).replace(str(c.ports["s1"]["zk1"]), str(member.port)) for w in c.common("s1")]
    c.carillon("admin", "adopt-coordination", *words)
    assert int(c.sql("SELECT generation FROM cluster")[0][0]) > before
    for server in c.schedulers.values():
        server.launch()
    chaos.settle(c, 60)
    fires(c, jobs, what="fires after the adoption")
    generations = "SELECT DISTINCT s.generation FROM slot s JOIN job j ON j.slot = s.slot AND j.live = 1"
    until(lambda: c.sql(generations) == [[str(before + 1)]], 30, "every slot to be taken in the new generation")


def test_the_books_are_right_after_all_that(c, jobs):
    load.pause(c.api, jobs)
    time.sleep(2)
    until(lambda: c.sql("SELECT COUNT(*) FROM run WHERE state < 2")[0][0] == "0", 60, "all runs to end")
    check = Check(c, jobs).run()
    assert not check.faults(), check.faults()[:10]
