"""Who may send pings, how many, and which of them make a job."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_harvest.services.ping import PingConfig
from sitemap_harvest.services.ping.desk import Desk
from sitemap_harvest.services.ping.form import Form, Received
from sitemap_harvest.services.ping.hosts import Hosts
from sitemap_harvest.services.ping.memory import Jobs
from sitemap_harvest.services.ping.pace import Pace
from sitemap_harvest.services.ping.refusal import Code, Refused

TOKEN, ANOTHER = "0123456789abcdef", "another-good-token"
URL = "https://www.example.com/sitemap.xml"


def desk(**options):
    usual = {"project": "p", "spider": "s", "hosts": Hosts.read("any"), "tokens": (TOKEN, ANOTHER)}
    return Desk(PingConfig(**usual | options), {})


def request(token=TOKEN, *, method="POST", peer="192.0.2.1"):
    headers = {"content-type": ["application/x-www-form-urlencoded"]}
    headers |= {"authorization": [f"Bearer {token}"]} if token else {}
    return Received(method=method, headers=headers, body=f"sitemap={URL}".encode(), peer=peer)


def refusal(function, *arguments):
    with pytest.raises(Refused) as caught:
        function(*arguments)
    return caught.value


def test_the_name_of_the_token_is_who_sends():
    assert desk().enter(request(ANOTHER), 0.0) == ("2", Form(sitemap=URL, token=ANOTHER))


@pytest.mark.parametrize(
    ("token", "code", "challenge"),
    [
        pytest.param("", Code.NO_TOKEN, 'Bearer realm="sitemap ping"', id="none"),
        pytest.param(
            "0123456789abcdeF", Code.WRONG_TOKEN, 'Bearer realm="sitemap ping", error="invalid_token"', id="wrong"
        ),
    ],
)
def test_without_a_token_that_is_known(token, code, challenge):
    refused = refusal(desk().enter, request(token), 0.0)
    assert (refused.code, refused.headers) == (code, {"WWW-Authenticate": challenge})
    assert not token or token not in refused.message


def test_closed_comes_before_all_but_the_method():
    closed = desk(tokens=())
    assert refusal(closed.enter, request(""), 0.0).code == Code.CLOSED
    assert refusal(closed.enter, request("", method="GET"), 0.0).code == Code.METHOD_NOT_ALLOWED


def test_a_file_of_tokens_that_is_gone_closes_the_service(tmp_path):
    file = tmp_path / "tokens"
    file.write_text(TOKEN, "utf-8")
    opened = desk(tokens=(), token_file=file)
    assert opened.enter(request(), 0.0)[0] == "line 1"
    file.unlink()
    refused = refusal(opened.enter, request(), 0.0)
    assert (refused.code, str(file) in refused.message) == (Code.UNAVAILABLE, False)


def test_a_token_has_its_pings_a_minute():
    busy = desk(per_minute=2)
    busy.enter(request(), 0.0)
    busy.enter(request(), 0.0)
    refused = refusal(busy.enter, request(), 0.0)
    assert (refused.code, refused.headers) == (Code.TOO_MANY, {"Retry-After": "30"})
    busy.enter(request(ANOTHER), 0.0)
    assert refusal(busy.enter, request(), 29.9).headers == {"Retry-After": "1"}
    busy.enter(request(), 30.0)


def test_all_together_have_theirs():
    busy = desk(per_minute=2, per_minute_all=3)
    for token in (TOKEN, TOKEN, ANOTHER):
        busy.enter(request(token), 0.0)
    assert refusal(busy.enter, request(ANOTHER), 0.0).code == Code.TOO_MANY


def test_wrong_tokens_are_held_back_by_their_sender_and_hold_back_nobody_else():
    busy = desk(per_minute=1, per_minute_all=1)
    assert refusal(busy.enter, request("wrong", peer="2001:db8::1"), 0.0).code == Code.WRONG_TOKEN
    assert refusal(busy.enter, request("wrong", peer="2001:db8::2"), 0.0).code == Code.TOO_MANY, "one network"
    assert refusal(busy.enter, request("", peer="2001:db8::3"), 0.0).code == Code.TOO_MANY
    assert refusal(busy.enter, request("wrong", peer="not an address: or so"), 0.0).code == Code.WRONG_TOKEN
    busy.enter(request(peer="2001:db8::1"), 0.0)


def sitemap(of, url=URL):
    return of.sitemap(Form(sitemap=url, token=""))


def test_no_sitemap():
    assert refusal(sitemap, desk(), "").code == Code.NO_SITEMAP


NONE = Jobs()
RUNNING = Jobs(running={"ping-1": URL})
PENDING = Jobs(pending={"ping-1": URL})


@pytest.mark.parametrize(
    ("minutes", "jobs", "later", "expected"),
    [
        pytest.param(10, NONE, 599.9, "ping-1", id="soon"),
        pytest.param(10, NONE, 600.0, None, id="later"),
        pytest.param(10, RUNNING, 6000.0, "ping-1", id="later-and-it-still-runs"),
        pytest.param(10, PENDING, 6000.0, "ping-1", id="later-and-it-is-still-pending"),
        pytest.param(0, NONE, 0.0, None, id="no-minutes"),
        pytest.param(0, RUNNING, 0.0, "ping-1", id="no-minutes-and-it-runs"),
    ],
)
def test_a_ping_is_repeated(minutes, jobs, later, expected):
    at = desk(repeat_minutes=minutes)
    at.note(sitemap(at), "ping-1", 100.0)
    assert at.job_of(sitemap(at), jobs, 100.0 + later) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        pytest.param("HTTPS://WWW.example.com:443/%73itemap.xml", "ping-1", id="another-spelling"),
        pytest.param("http://www.example.com/sitemap.xml", None, id="another-scheme"),
        pytest.param(f"{URL}?a=1", None, id="another-query"),
    ],
)
def test_what_counts_as_the_same_sitemap(url, expected):
    at = desk()
    at.note(sitemap(at), "ping-1", 0.0)
    assert at.job_of(sitemap(at, url), NONE, 0.0) == expected


@pytest.mark.parametrize("jobs", [RUNNING, PENDING], ids=["running", "pending"])
def test_a_job_that_scrapyd_has_is_known_after_a_restart(jobs):
    at = desk()
    assert at.job_of(sitemap(at), jobs, 0.0) == "ping-1"
    assert at.job_of(sitemap(at, f"{URL}?2"), jobs, 0.0) is None


def test_a_full_queue_takes_repeated_pings_and_no_new_ones():
    at = desk(max_pending=1)
    assert at.job_of(sitemap(at), PENDING, 0.0) == "ping-1"
    refused = refusal(at.job_of, sitemap(at, f"{URL}?2"), PENDING, 0.0)
    assert (refused.code, refused.headers) == (Code.QUEUE_FULL, {"Retry-After": "60"})


def test_what_is_over_is_forgotten():
    at = desk()
    for number in range(100):
        at.note(sitemap(at, f"{URL}?{number}"), f"ping-{number}", number * 1000.0)
    assert len(at._memory._known) == 1


@given(st.lists(st.floats(min_value=0, max_value=30), max_size=60), st.integers(min_value=1, max_value=20))
def test_no_minute_has_more_than_twice_its_pings(pauses, most):
    pace, now, passed = Pace(most), 0.0, []
    for pause in pauses:
        now += pause
        if pace.wait("a", now) == 0:
            pace.take("a", now)
            passed.append(now)
    for start in passed:
        assert sum(start <= each < start + 60 for each in passed) <= 2 * most


def test_after_the_wait_there_is_room():
    pace = Pace(3)
    for _ in range(3):
        pace.take("a", 7.7)
    assert pace.wait("a", 7.7 + pace.wait("a", 7.7)) == pytest.approx(0)


def test_a_pace_remembers_so_many_senders():
    pace = Pace(1)
    for number in range(10_050):
        pace.take(str(number), 0.0)
    assert len(pace._levels) == 10_000
    assert pace.wait("10049", 0.0) == 60
