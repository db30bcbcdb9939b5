"""A folder in an object store: its address, what it does at each answer of the server, and its errors."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from botocore.exceptions import IncompleteReadError, ResponseStreamingError

from sitemap_harvest.errors import StoreError
from sitemap_harvest.snapshots.store import History, SiteLocks, object_store, open_store, store_at
from sitemap_harvest.snapshots.store.cursors import Cursor, cursor_of, move
from sitemap_harvest.snapshots.store.storage import Folder
from sitemap_harvest.snapshots.store.store import Manifest
from tests.snapshots.store.memory_bucket import MemoryBucket

_ACCESS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "a-secret-key"}


@pytest.fixture(params=[None, lambda data: "version of " + data.hex()], ids=["md5", "other-versions"])
def bucket(request):
    return MemoryBucket() if request.param is None else MemoryBucket(request.param)


def test_an_object_is_replaced_only_if_it_is_as_it_was_read(bucket):
    folder = bucket.folder()
    assert [folder.replace("x", data, was=was) for data, was in ((b"1", b"0"), (b"1", None), (b"2", None))] == [
        False,
        True,
        False,
    ]
    assert [folder.replace("x", data, was=was) for data, was in ((b"2", b"0"), (b"2", b"1"))] == [False, True]
    assert folder.read("x") == b"2"


def test_a_write_usually_takes_one_request():
    bucket = MemoryBucket()
    folder = bucket.folder()
    folder.replace("x", b"1", was=None)
    folder.replace("x", b"2", was=b"1")
    assert bucket.requests == ["PUT store/x", "PUT store/x"]


@pytest.mark.parametrize("was", [None, b"0"])
def test_a_write_whose_answer_was_lost_counts(bucket, was):
    folder = bucket.folder()
    if was is not None:
        folder.put("x", was)
    bucket.answers = [lambda: False]  # as after a repeated request
    assert folder.replace("x", b"1", was=was)
    assert folder.read("x") == b"1"


def test_a_write_is_repeated_while_another_is_in_progress(bucket, monkeypatch):
    slept = []
    monkeypatch.setattr("time.sleep", slept.append)
    folder = bucket.folder()
    answers = iter([False, False, True])
    real = bucket.put
    monkeypatch.setattr(bucket, "put", lambda *args, **condition: next(answers) and real(*args, **condition))
    assert folder.replace("x", b"1", was=None)
    assert slept == [0.2, 0.4]
    monkeypatch.setattr(bucket, "put", lambda *args, **condition: False)
    with pytest.raises(OSError, match="bucket/store/y: the server refused 5 writes"):
        folder.replace("y", b"1", was=None)


def test_a_folder_has_the_objects_below_it(bucket):
    folder = bucket.folder() / "a"
    for name in ("x", "b/y", "b/z", "c"):
        folder.write(name, b"one")
    bucket.objects["store/a/"] = bucket.objects["store/a/x"]  # as other programs create folders
    assert (folder.names(), (folder / "b").names(), folder.names("b", "c")) == (
        ["b", "c", "x"],
        ["y", "z"],
        ["b", "c"],
    )
    assert (folder.size("x"), folder.size("b"), folder.read("b")) == (3, None, None)
    assert folder.tree() == {"": [""], "b": ["y", "z"], "c": [""], "x": [""]}
    with folder.open("b/y") as opened:
        assert (opened.size(), opened.read()) == (3, b"one")
    with pytest.raises(FileNotFoundError, match="bucket/store/a/d is missing"):
        folder.open("d")
    with pytest.raises(OSError, match="no links"):
        folder.link("l", "/x")
    folder.remove("x")
    (folder / "b").remove_all()
    assert folder.names() == ["c"]


def test_the_first_of_two_concurrent_runs_is_stored(bucket):
    first, second = (History("https://a.example", bucket.folder() / "sites/a") for _ in range(2))
    assert first.runs == second.runs == ()
    first.replace(Manifest(next_row=1))
    with pytest.raises(StoreError, match="another run has stored a snapshot in the meantime"):
        second.replace(Manifest(next_row=2))
    second.forget()
    assert second.manifest.next_row == 1


def test_a_cursor_does_not_move_back_with_two_writers(bucket):
    history = History("https://a.example", bucket.folder() / "sites/a")
    move(history, Cursor("c", "1"))
    bucket.before_put = lambda key: move(history, Cursor("c", "3"))
    move(history, Cursor("c", "2"))
    assert cursor_of(history, "c") == Cursor("c", "3")
    bucket.before_put = lambda key: move(history, Cursor("c", "4"))
    move(history, Cursor("c", "5"))
    assert cursor_of(history, "c") == Cursor("c", "5")


def test_conditions_are_checked_once(bucket):
    folder = bucket.folder()
    folder.check_conditions()
    assert (len(bucket.requests), bucket.objects) == (4, {})
    folder.check_conditions()
    assert len(bucket.requests) == 4


@pytest.mark.parametrize("ignored", ["IfMatch", "IfNoneMatch"])
def test_a_server_that_ignores_one_condition_is_refused(bucket, monkeypatch, ignored):
    real = bucket.put

    def put(key, data, **condition):
        return real(key, data, **{name: value for name, value in condition.items() if name != ignored})

    monkeypatch.setattr(bucket, "put", put)
    with pytest.raises(StoreError, match="store 'bucket/store': the server does not support conditional writes"):
        SiteLocks(bucket.folder(), "mine").take(bucket.folder() / "site")
    assert bucket.objects == {}


def test_a_response_that_breaks_off_is_requested_again(monkeypatch):
    bodies = [IncompleteReadError(actual_bytes=1, expected_bytes=3), ResponseStreamingError(error="reset"), b"one"]

    class Body:
        def read(self):
            if isinstance(body := bodies.pop(0), Exception):
                raise body
            return body

    for name, value in _ACCESS.items():
        monkeypatch.setenv(name, value)
    folder = Folder.at("s3://bucket/x")
    answer = {"Body": Body(), "ETag": '"1"'}
    monkeypatch.setattr(folder._bucket._client, "get_object", lambda **_: answer)
    assert folder.read("x") == b"one"
    bodies += [ResponseStreamingError(error="reset")] * 5
    with pytest.raises(OSError, match="reset"):
        folder.read("x")
    assert bodies == []


class Unconditional(BaseHTTPRequestHandler):
    """Has the protocol of S3, and ignores the conditions of writes."""

    protocol_version = "HTTP/1.1"
    objects: dict[str, bytes]

    def do_PUT(self):
        self.objects[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(200)

    def do_DELETE(self):
        self.objects.pop(self.path, None)
        self._answer(204)

    def do_GET(self):
        self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")

    def do_HEAD(self):
        self._answer(404)

    def _answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("ETag", '"0"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def unconditional(monkeypatch):
    for name, value in _ACCESS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(Unconditional, "objects", {}, raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), Unconditional) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_a_server_without_conditional_writes_is_refused(unconditional):
    with pytest.raises(StoreError, match="does not support conditional writes"):
        open_store(f"s3://bucket/store?endpoint_override={unconditional}&scheme=http", create=True)
    assert Unconditional.objects == {}


def test_without_boto3_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['botocore'] = None\n"
        "from sitemap_harvest import open_store\n"
        "try: open_store('s3://key:hush@bucket/x')\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == (
        "StoreError store 's3://bucket/x': boto3 is not installed: pip install 'scrapy-sitemap-harvest[s3]'\n"
    )


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        pytest.param("s3://bucket/a/b", ("bucket", "a/b", {}), id="plain"),
        pytest.param("s3://bucket/a%20b/", ("bucket", "a b", {}), id="encoded-path"),
        pytest.param("s3://bucket", ("bucket", "", {}), id="whole-bucket"),
        pytest.param(
            "s3://key:se%2Fcret@bucket/a?endpoint_override=localhost:9&scheme=http&region=eu",
            (
                "bucket",
                "a",
                {
                    "aws_access_key_id": "key",
                    "aws_secret_access_key": "se/cret",
                    "endpoint_url": "http://localhost:9",
                    "region_name": "eu",
                    "use_ssl": False,
                },
            ),
            id="everything",
        ),
    ],
)
def test_addresses(monkeypatch, address, expected):
    monkeypatch.delenv("AWS_REGION", raising=False)
    bucket, path, options = object_store._parts(address, "store")
    defaults = {"region_name": None, "use_ssl": True, "aws_access_key_id": None, "aws_secret_access_key": None}
    assert (bucket, path, options) == (*expected[:2], defaults | expected[2])


@pytest.mark.parametrize(
    ("address", "words"),
    [
        pytest.param("s3://me:hush/x@bucket/a", "write %2F for a slash", id="slash-in-a-key"),
        pytest.param("s3://me:7/hush@bucket/a", "write %2F for a slash", id="number-in-a-key"),
        pytest.param("s3:///a", "not an address such as s3://bucket/folder", id="no-bucket"),
        pytest.param("s3://me:hush@bucket/a?endpoint=x", "unknown option 'endpoint'; valid options: ", id="option"),
        pytest.param("s3://me:hush@bucket/a?x", "not a valid address", id="query"),
        pytest.param("s3://me:hush@[bucket/a", "not a valid address", id="bracket"),
        pytest.param("s3://me:hush@b ad/a", "Invalid bucket name", id="name-of-a-bucket"),
        pytest.param("s3://me:hush@bucket/a?endpoint_override=a b", "Invalid endpoint", id="endpoint"),
    ],
)
def test_a_wrong_address_is_reported_in_one_line_without_credentials(monkeypatch, address, words):
    for name, value in _ACCESS.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(StoreError) as raised:
        store_at(address)
    assert words in str(raised.value)
    assert "hush" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_key_with_a_line_break_is_not_shown(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "hush\n")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush\n")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "hush\n")
    with pytest.raises(StoreError, match="a key or a token has a character that HTTP does not allow") as raised:
        store_at("s3://bucket/x?endpoint_override=127.0.0.1:9&scheme=http")
    assert "hush" not in str(raised.value)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forked processes")
def test_a_forked_process_has_connections_of_its_own(monkeypatch):
    for name, value in _ACCESS.items():
        monkeypatch.setenv(name, value)
    bucket = Folder.at("s3://bucket/x")._bucket
    mine = bucket._client
    assert bucket._client is mine
    monkeypatch.setattr("os.getpid", lambda: -1)
    assert bucket._client is not mine
