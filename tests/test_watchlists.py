"""Lists of other programs: what is taken over, what is left out, and bad files."""

import io
import json
import time
import zipfile

import pytest
from hypothesis import given, strategies as st

from halflife.core.errors import UsageError
from halflife.watchlists import changedetection, distill, opml, url_list, urlwatch

WATCHES = {
    "url": "https://a.example/news",
    "title": "News",
    "paused": False,
    "method": "GET",
    "headers": {"Cookie": "hunter2"},
    "include_filters": [".main", "xpath1://h1", "json:$.x", "p["],
    "subtractive_selectors": [".advert"],
    "time_between_check": {"days": None, "hours": 3},
    "notification_urls": [],
}
UUID = "3c9bd4c2-7d1e-4d57-9d3f-0a2a3c1e2f10"


def old_settings(*watches):
    """A ``url-watches.json`` as 0.45 writes it."""
    watching = {f"id-{n}": watch for n, watch in enumerate(watches)}
    document = {"note": "x", "watching": watching, "version_tag": "0.45.1"}
    return json.dumps({**document, "settings": {"headers": {}}}).encode()


def backup(**files):
    """A backup, as its page makes it."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as made:
        for name, body in files.items():
            made.writestr(name, body)
    return data.getvalue()


@pytest.mark.parametrize(
    "body",
    [
        old_settings(WATCHES),
        backup(**{"url-watches.json": old_settings(WATCHES), "url-list.txt": b"x"}),
        backup(
            **{
                "changedetection.json": b'{"settings": {"application": {}}}',
                f"{UUID}/watch.json": json.dumps(WATCHES),
                f"{UUID}/history.txt": b"1,x.txt",
            }
        ),
    ],
    ids=["settings", "old backup", "new backup"],
)
def test_watches_of_changedetection_are_read_from_any_of_its_files(body):
    found = changedetection.read(body)
    (watch,) = found.watches.values()
    assert watch.url == "https://a.example/news"
    assert watch.rules == ((".main", "xpath://h1"), (".advert",))
    assert found.left_out == []
    assert found.ignored == {
        "filters": 2,
        "headers (they may hold secrets)": 1,
        "intervals": 1,
    }
    assert "hunter2" not in repr(found)


def test_what_cannot_be_kept_is_left_out_with_a_reason():
    body = old_settings(
        {"url": "https://a.example/1", "paused": True},
        {"url": "https://a.example/2", "method": "POST"},
        {"url": "https://a.example/{{ day }}"},
        {"url": "file:///etc/passwd"},
        {"url": 7},
        "nonsense",
        {"url": "https://a.example/3"},
    )
    found = changedetection.read(body)
    assert list(found.watches) == ["https://a.example/3"]
    assert [why for _, why in found.left_out] == [
        "it is paused",
        "it is asked by POST",
        "its address is a template",
        "it has no web address",
        "it has no web address",
        "it has no web address",
    ]


def test_jobs_of_urlwatch_are_read_and_commands_never():
    body = b"""\
name: "one"
url: "https://a.example/x#y"
filter:
  - css: "main"
  - xpath: {path: "//p", exclude: "//i"}
  - html2text
  - shellpipe: "rm -rf ~"
---
name: "files"
command: "rm -rf ~"
---
navigate: "https://b.example/"
---
url: "https://c.example/"
data: {q: 1}
---
url: "https://d.example/"
enabled: false
"""
    found = urlwatch.read(body)
    assert list(found.watches) == ["https://a.example/x", "https://b.example/"]
    assert found.left_out == [
        ("files", "it runs a command"),
        ("https://c.example/", "it sends something"),
        ("https://d.example/", "it is switched off"),
    ]
    assert found.ignored == {"filters": 1, "browsers": 1}
    first = next(iter(found.watches.values()))
    assert first.rules == (("css:main", "xpath://p"), ("xpath://i",))


def test_feeds_of_a_subscription_list_are_read_from_any_folder():
    body = b"""<?xml version="1.0"?><opml version="2.0"><head/><body>
      <outline text="tech"><outline type="rss" text="a" xmlUrl="https://a.example/f"
        htmlUrl="https://a.example/"/></outline>
      <outline type="link" text="b" url="https://b.example/"/>
      <outline text="c" xmlUrl="nonsense"/></body></opml>"""
    found = opml.read(body)
    assert {w.url: w.feed for w in found.watches.values()} == {
        "https://a.example/f": True,
        "https://b.example/": False,
    }
    assert found.left_out == [("nonsense", "it has no web address")]


def test_monitors_of_distill_are_read():
    frame = {
        "index": 0,
        "includes": [{"type": "css", "expr": "main"}, {"type": "tea", "expr": "x"}],
        "excludes": [{"type": "xpath", "expr": "//i"}],
    }
    config = json.dumps({"selections": [{"frames": [frame]}]})
    body = {
        "client": {"local": 1},
        "data": [
            {"name": "a", "uri": "https://a.example/", "config": config, "tags": []},
            {"name": "b", "uri": "https://b.example/f", "config": "{}",
             "content_type": "feed", "schedule": '{"type":"INTERVAL"}'},
        ],
    }  # fmt: skip
    found = distill.read(json.dumps(body).encode())
    assert [w.feed for w in found.watches.values()] == [False, True]
    assert found.ignored == {"filters": 1, "schedules": 1}
    first = next(iter(found.watches.values()))
    assert first.rules == (("css:main",), ("xpath://i",))


def test_a_plain_list_may_have_comments_and_tags():
    body = (
        b"\xef\xbb\xbf# mine\nhttps://a.example/ news, daily\r\n\nhttps://a.example\n"
    )
    assert list(url_list.read(body).watches) == ["https://a.example/"]


@pytest.mark.parametrize(
    ("read", "body", "said"),
    [
        (changedetection.read, b"{}", "no 'watching'"),
        (changedetection.read, b'{"settings": {}}', "give the backup"),
        (changedetection.read, b"[1]", "known here"),
        (changedetection.read, b"nonsense", "neither JSON nor a backup"),
        (changedetection.read, b"PK\3\4 torn", "cannot be read"),
        (changedetection.read, backup(a=b"x"), "no backup of changedetection.io"),
        (changedetection.read, b"[" * 100_000, "neither JSON"),
        (urlwatch.read, b"- a\n- b\n", "no list of jobs"),
        (urlwatch.read, b"a: &x 1\nb: *x\n", "aliases"),
        (urlwatch.read, b"a: [", "not YAML"),
        (urlwatch.read, b"", "no jobs"),
        (urlwatch.read, b"[" * 100_000, "deep"),
        (urlwatch.read, b"url: !!python/object/apply:os.system ['ls']", "not YAML"),
        (opml.read, b"<rss/>", "not OPML"),
        (opml.read, b'<opml version="9.7"><body/></opml>', "version '9.7'"),
        (opml.read, b'<opml version="2.0"><body>', "cannot be read"),
        (opml.read, b"<!DOCTYPE x [<!ENTITY e 'e'>]><opml/>", "not OPML"),
        (distill.read, b'{"version": 9}', "no list 'data'"),
        (distill.read, b"\xff\xfe", "not text"),
        (url_list.read, b"\xff", "not text"),
    ],
)
def test_a_file_of_an_unknown_version_is_one_clear_line(read, body, said):
    with pytest.raises(UsageError) as error:
        read(body)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_bomb_is_not_unpacked():
    bomb = backup(**{f"{UUID}/watch.json": b" " * (40 << 20)})
    assert len(bomb) < 100_000
    with pytest.raises(UsageError, match="too large"):
        changedetection.read(bomb)


def test_a_large_list_of_jobs_is_read_in_seconds():
    body = b"---\n".join(b"url: https://a.example/%d\n" % n for n in range(5000))
    began = time.process_time()
    assert len(urlwatch.read(body).watches) == 5000
    assert time.process_time() - began < 10.0


@pytest.mark.parametrize(
    "read",
    [changedetection.read, urlwatch.read, opml.read, distill.read, url_list.read],
)
@given(st.binary(max_size=300) | st.text(max_size=200).map(str.encode))
def test_whatever_a_file_holds_nothing_but_a_complaint_comes_of_it(read, body):
    try:
        found = read(body)
    except UsageError:
        return
    assert all(url.startswith(("http://", "https://")) for url in found.watches)


@given(
    st.lists(
        st.from_regex(
            r"https?://[a-z]{1,8}\.example/[\w&<>\"' é]{0,9}", fullmatch=True
        ),
        max_size=5,
    )
)
def test_what_was_written_as_opml_is_read_back(urls):
    wanted = url_list.Watchlist()
    for url in urls:
        wanted.add(url)
    keys = list(wanted.watches)
    found = opml.read(opml.write("mine & 'yours'", keys[::2], keys[1::2]).encode())
    assert set(found.watches) == set(keys)
    assert {u for u, w in found.watches.items() if w.feed} == set(keys[::2])


@pytest.mark.parametrize(
    ("entry", "total", "many", "is_read"),
    [(0, 99, 1, True), (-1, 99, 1, False), (9, 0, 2, True), (9, -1, 2, False)],
)
def test_a_backup_is_read_up_to_its_limits(monkeypatch, entry, total, many, is_read):
    watched = b'{"url": "http://a.example/"}'
    names = [f"{n:08d}{UUID[8:]}/watch.json" for n in range(many)]
    monkeypatch.setattr(changedetection, "ENTRY", len(watched) + entry)
    monkeypatch.setattr(changedetection, "TOTAL", many * len(watched) + total)
    body = backup(**dict.fromkeys(names, watched))
    if is_read:
        assert list(changedetection.read(body).watches) == ["http://a.example/"]
    else:
        with pytest.raises(UsageError, match="too large"):
            changedetection.read(body)


def test_a_file_has_no_more_watches_than_may_be_kept(monkeypatch):
    for most, is_read in ((2, True), (1, True), (0, False)):
        monkeypatch.setattr(changedetection, "MOST", most)
        body = old_settings(
            {"url": "http://a.example/1"}, {"url": "http://a.example/2"}
        )
        if is_read:
            assert len(changedetection.read(body).watches) == 2
        else:
            with pytest.raises(UsageError, match="more than 0 watches"):
                changedetection.read(body)


def test_filters_of_a_watch_are_taken_up_to_a_hundred_and_where_they_are_one():
    many = [f".c{i}" for i in range(120)]
    found = changedetection.read(
        old_settings(
            {
                "url": "http://a.example/1",
                "css_filter": ".one",
                "include_filters": many,
            },
            {"url": "http://a.example/2", "include_filters": ["jq:.x", "re:/a/", ""]},
            {"url": "http://a.example/3", "method": None, "headers": {"a": ""}},
        )
    )
    first, second, third = found.watches.values()
    assert first.rules.only == tuple(many[:100])
    assert second.rules == third.rules == ((), ())
    assert found.ignored == {"filters": 2}
    alone = changedetection.read(
        old_settings({"url": "http://a.example/", "css_filter": " .one "})
    )
    assert next(iter(alone.watches.values())).rules.only == (".one",)


def test_of_two_old_files_in_a_backup_the_first_counts_and_new_ones_come_first():
    one, two = ({"url": f"http://{name}.example/"} for name in "ab")
    both = backup(
        **{
            "url-watches.json": old_settings(one),
            "x/url-watches.json": old_settings(two),
        }
    )
    assert list(changedetection.read(both).watches) == ["http://a.example/"]
    newer = backup(
        **{"url-watches.json": old_settings(one), f"{UUID}/watch.json": json.dumps(two)}
    )
    assert list(changedetection.read(newer).watches) == ["http://b.example/"]


def test_jobs_are_read_up_to_their_size_depth_and_filters(monkeypatch):
    job = b"url: http://a.example/\n"
    for largest, is_read in ((len(job), True), (len(job) - 1, False)):
        monkeypatch.setattr(urlwatch, "LARGEST", largest)
        if is_read:
            assert len(urlwatch.read(job).watches) == 1
        else:
            with pytest.raises(UsageError, match="larger than"):
                urlwatch.read(job)
    monkeypatch.undo()
    for levels, is_read in ((49, True), (50, False)):  # within the mapping of the job
        deep = job + b"x: " + b"[" * levels + b"]" * levels
        if is_read:
            assert len(urlwatch.read(deep).watches) == 1
        else:
            with pytest.raises(UsageError, match="50 deep"):
                urlwatch.read(deep)
    steps = "".join(f"  - css: .c{i}\n" for i in range(60))
    found = urlwatch.read(job + b"filter:\n" + steps.encode())
    (watch,) = found.watches.values()
    assert watch.rules.only == tuple(f"css:.c{i}" for i in range(50))


def test_a_job_is_left_out_for_what_it_does_and_named_as_it_is_called():
    body = b"""\
method: post
url: http://a.example/
---
method: get
url: http://b.example/
filter: "css:.x, strip, grep:y"
timeout: 3
---
enabled: true
navigate: http://c.example/
filter: {css: .x}
---
name: nowhere
---
~
---
enabled: false
name: dark
"""
    found = urlwatch.read(body)
    assert list(found.watches) == ["http://b.example/", "http://c.example/"]
    assert found.left_out == [
        ("http://a.example/", "it sends something"),
        ("nowhere", "it has no web address"),
        ("dark", "it is switched off"),
    ]
    rules = [watch.rules for watch in found.watches.values()]
    assert rules == [(("css:.x",), ()), ((), ())]
    assert found.ignored == {"filters": 1, "timeouts": 1, "browsers": 1}


def test_parts_of_a_monitor_are_taken_up_to_twenty():
    parts = [{"type": "css", "expr": f".c{i}"} for i in range(25)]
    frame = {"includes": parts, "excludes": [{"type": "css"}, 7]}
    config = {"selections": [{"frames": [frame]}, "nonsense"]}
    row = {"uri": "http://a.example/", "config": config, "content_type": "RSS"}
    found = distill.read(json.dumps({"data": [row]}).encode())
    (watch,) = found.watches.values()
    assert watch.rules == (tuple(f"css:.c{i}" for i in range(20)), ())
    assert watch.feed
    assert found.ignored == {"filters": 1}
    torn = distill.read(json.dumps({"data": [{**row, "config": "{"}]}).encode())
    assert next(iter(torn.watches.values())).rules == ((), ())


def test_outlines_of_any_spelling_name_a_feed_or_a_page():
    body = b"""<OPML Version=" 1.1 "><body><OUTLINE XMLURL="http://a.example/f"
      url="http://x.example/"/><outline htmlUrl="http://b.example/"/>
      <outline url="http://c.example/" htmlUrl="http://y.example/"/>
      <other url="http://z.example/"/></body></OPML>"""
    found = opml.read(body)
    assert {w.url: w.feed for w in found.watches.values()} == {
        "http://a.example/f": True,
        "http://b.example/": False,
        "http://c.example/": False,
    }
