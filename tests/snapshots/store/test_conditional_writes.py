"""Several runs that write to one store in a real object store: of each decision, exactly one wins."""

from __future__ import annotations

import multiprocessing
import threading
from contextlib import ExitStack, closing

import pytest
from botocore.exceptions import ReadTimeoutError

from sitemap_harvest.errors import StoreError
from sitemap_harvest.snapshots.store import SiteLocks, open_store
from sitemap_harvest.snapshots.store.cursors import Cursor, cursor_of, move
from tests.services.object_store import BUCKET, object_store
from tests.snapshots.store.making import SITE, Making, listed, locs

pytestmark = pytest.mark.service
STORE = f"s3://{BUCKET}/some/store"
_WRITERS = 3


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    yield from object_store(tmp_path_factory.mktemp("object-store"))


@pytest.fixture(autouse=True)
def _access(server, monkeypatch):
    for name, value in server.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def store(request):
    return open_store(f"{STORE}/{request.node.name}", create=True)


@pytest.fixture
def locks_of(store):
    """Return a function that prepares the locks of a run, which ends with the test."""
    with ExitStack() as stack:
        yield lambda name: stack.enter_context(closing(SiteLocks(store.folder, name)))


def together(works):
    """Call the *works* at the same time, each in a thread; return their results or errors."""
    barrier, found = threading.Barrier(len(works)), {}

    def call(number, work):
        barrier.wait()
        try:
            found[number] = work()
        except StoreError as error:
            found[number] = error

    threads = [threading.Thread(target=call, args=one) for one in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[number] for number in range(len(works))]


@pytest.mark.parametrize("earlier", [0, 1])
def test_of_runs_that_end_at_once_one_is_stored(request, earlier):
    address = f"{STORE}/{request.node.name}"
    makings = [Making(address) for _ in range(2)]  # SeaweedFS makes a second writer wait for a second
    for _ in range(earlier):
        makings[0].run({f"{SITE}/s.xml": locs(2)})
    works = []
    for number, making in enumerate(makings):
        making.now = makings[0].now.replace(hour=10 + number)
        writer = making.begin()
        record = making.document(writer, f"{SITE}/s.xml", locs(3, start=10 * number))
        works.append(lambda making=making, writer=writer, record=record: making.commit(writer, [record]))
    found = together(works)
    (stored,) = [one for one in found if not isinstance(one, StoreError)]
    assert {str(one) for one in found if one is not stored} == {
        f"{SITE}: another run has stored a snapshot in the meantime"
    }
    history = open_store(address).history(SITE)
    assert [run.id for run in history.runs][earlier:] == [stored.run.id]
    assert listed(history.latest()) == listed(stored)


def test_a_lock_is_taken_once(store, locks_of):
    locks = [locks_of(f"run-{number}") for number in range(_WRITERS)]
    site = store.history(SITE).folder
    found = together([lambda one=one: one.take(site) for one in locks])
    assert found.count(None) == 1
    assert {*found} == {None, f"run-{found.index(None)}"}


def test_a_lock_is_taken_by_one_of_several_forked_processes(store):
    context = multiprocessing.get_context("fork")
    site, results = store.history(SITE).folder, context.SimpleQueue()

    def take(name):
        results.put((name, SiteLocks(store.folder, name).take(site)))

    processes = [context.Process(target=take, args=(f"run-{number}",)) for number in range(_WRITERS)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    found = dict(results.get() for _ in processes)
    (holder,) = [name for name, other in found.items() if other is None]
    assert {*found.values()} == {None, holder}


def test_a_dead_lock_is_taken_over_once(store, locks_of):
    site = store.history(SITE).folder
    locks_of("dead").take(site)
    locks = [locks_of(f"run-{number}") for number in range(_WRITERS)]
    assert [one.take(site) for one in locks] == ["dead"] * _WRITERS
    (store.folder / "running").remove("dead.json")
    found = together([lambda one=one: one.take(site) for one in locks])
    assert found.count(None) == 1
    assert {*found} == {None, f"run-{found.index(None)}"}


def test_the_age_of_a_heartbeat_is_that_of_the_server(store, monkeypatch):
    store.folder.put("x", b"")
    monkeypatch.setattr("time.time", lambda: 0.0)
    assert 0 <= store.folder.age("x") < 600
    assert store.folder.age("y") is None


def test_a_cursor_of_concurrent_writers_is_the_last(store):
    history = store.history(SITE)
    runs = [f"20261101T03000{number}Z-000000" for number in range(_WRITERS)]
    assert together([lambda run=run: move(history, Cursor("c", run)) for run in runs]) == [None] * _WRITERS
    assert cursor_of(history, "c") == Cursor("c", runs[-1])


def test_a_write_whose_response_is_lost_is_not_taken_for_that_of_another(store, monkeypatch):
    connection, lost = store.folder._bucket._client._endpoint.http_session, []
    real = connection.send

    def send(request):
        response = real(request)
        if request.method == "PUT" and not lost:
            lost.append(response.status_code)
            raise ReadTimeoutError(endpoint_url="lost")
        return response

    monkeypatch.setattr(connection, "send", send)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    assert store.folder.replace("x", b"mine", was=None)
    assert lost == [200]
    lost.clear()
    assert store.folder.replace("x", b"mine too", was=b"mine")
    lost.clear()
    assert not store.folder.replace("x", b"mine again", was=b"mine")
    assert lost == [412]
