import os
import sys

import pytest

sys.path[:0] = [os.path.dirname(__file__), os.path.join(os.path.dirname(__file__), "../lib")]

from harness import Executor, Standalone  # noqa: E402
from servers import servers  # noqa: E402


@pytest.fixture
def executor():
    e = Executor()
    yield e
    e.close()


@pytest.fixture
def standalone(tmp_path):
    server = Standalone(tmp_path / "data").start()
    yield server
    server.kill()


@pytest.fixture(scope="session")
def services():
    """Private MariaDB and ZooKeeper for the whole session of tests."""
    os.environ.setdefault("CARILLON_TEST_MYSQL_FAST", "1")
    with servers() as pair:
        yield pair
