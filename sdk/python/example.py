"""The tasks of the clients' test, in Python: python3 example.py HOST:PORT [SERVER KEY]"""
import sys
import time

from carillon_executor import Delay, Executor, Failure

executor = Executor(sys.argv[1], application="python", servers=sys.argv[2:3], key=sys.argv[3] if len(sys.argv) > 3 else None, heartbeat=1, version="1.0")
calls = {}


@executor.task("/greet")
def greet(call):
    """says hello"""
    if call.params.get("fail"):
        raise Failure("NO_NAME", "who is it?")
    if call.params.get("delay"):
        raise Delay(1)
    return {"hello": call.params.get("name", "world"), "step": call.step}


@executor.task("/count", serial=True)
def count(call):
    time.sleep(0.3)
    calls["n"] = calls.get("n", 0) + 1
    return {"count": calls["n"]}


@executor.task("/long", asynchronous=True)
def long(call):
    for tenth in range(int(call.params.get("seconds", 1) * 10)):
        if call.canceled:
            raise Failure("CANCELED", "stopped, as asked")
        if tenth % 5 == 0:
            call.progress(tenth, f"page {tenth // 5 + 1}")
            call.log(f"page {tenth // 5 + 1}")
        time.sleep(0.1)
    return {"pages": 2}


executor.run()
