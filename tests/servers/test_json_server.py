"""json-server: a JSON file as an API, in pages and whole."""

import json
import time
import urllib.request

import pytest

from server_parts import (
    TREE,
    Server,
    check_words,
    free_port,
    live_through,
    need,
    running,
)

PROGRAM = TREE / ".servers/node_modules/.bin/json-server"
LISTING = """
[[source]]
name = "posts"
kind = "listing"
{url}
key = "id"
confirm_hours = 0
allow = ["127.0.0.0/8"]
"""


class Posts:
    """The server, and the file that is its database."""

    def __init__(self, server, path):
        self.server = server
        self.path = path

    def call(self, method, path, value=None):
        """Change something by the server's own API; it writes its file at once."""
        request = urllib.request.Request(
            self.server.url + path,
            method=method,
            data=None if value is None else json.dumps(value).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=20):
            pass

    def truth(self):
        """Return what the file holds."""
        return {str(post["id"]): post for post in self._posts()}

    def _posts(self):
        end = time.monotonic() + 10
        while True:
            try:
                return json.loads(self.path.read_text())["posts"]
            except ValueError:  # it is being written
                assert time.monotonic() < end
                time.sleep(0.05)

    def alter(self):
        """Let 12 posts come, 12 change, 4 go, and one have another key."""
        for number in range(300, 312):
            self.call("POST", "/posts", post(number))
        for number in range(3, 120, 10):
            self.call("PATCH", f"/posts/{number}", {"title": f"changed {number}"})
        for number in (7, 40, 41, 100, 11):
            self.call("DELETE", f"/posts/{number}")
        self.call("POST", "/posts", {**post(11), "id": 900})


def post(number):
    return {"id": number, "title": f"post {number}", "likes": number * 7 % 50}


@pytest.fixture
def posts(tmp_path):
    """A file of 120 posts, served."""
    need("node", str(PROGRAM))
    path, port = tmp_path / "db.json", free_port()
    path.write_text(json.dumps({"posts": [post(i) for i in range(1, 121)]}))
    command = [str(PROGRAM), "--host", "127.0.0.1", "--port", str(port), str(path)]
    server = Server(command, port, tmp_path / "json-server.log", path="/db")
    with running(server):
        yield Posts(server, path)


@pytest.mark.parametrize(
    ("address", "pages"),
    [('page_url = "{}/posts?_page={{n}}&_limit=40"', 3), ('url = "{}/posts"', 1)],
    ids=["numbered", "whole"],
)
def test_a_listing_holds_what_the_file_does_through_outages(
    posts, copy, address, pages
):
    copy.settings(LISTING.format(url=address.format(posts.server.url)))
    live_through(
        copy,
        posts.server,
        "posts",
        alter=posts.alter,
        truth=posts.truth,
        gone={"7", "40", "41", "100", "11"},
    )
    # Numbered pages end with one that is empty, whose request is paid for too.
    first = 1 + pages + (pages > 1)
    after = 5 if pages > 1 else 1  # 128 posts are four pages, and the empty one
    assert copy.requests == [first, 1, 1, 1, after, after]
    check_words(copy, "posts", len(posts.truth()))


def test_pages_that_a_header_names_end_without_an_empty_one(posts, copy):
    url = f'url = "{posts.server.url}/posts?_page=1&_limit=40"\n'
    url += 'total_header = "X-Total-Count"\npaging = {kind = "header"}'
    copy.settings(LISTING.format(url=url))
    copy.sync()
    assert copy.held("posts") == posts.truth()
    posts.alter()
    copy.sync()
    assert copy.held("posts") == posts.truth()
    assert copy.requests == [4, 4]  # three pages and robots.txt; then four pages


def replace(posts, numbers):
    """Put another file in the place of the database while the server is stopped."""
    with posts.server.down():
        posts.path.write_text(json.dumps({"posts": [post(i) for i in numbers]}))


def test_a_database_that_lost_its_records_and_got_them_back_lost_none_here(posts, copy):
    copy.settings(LISTING.format(url=f'url = "{posts.server.url}/posts"'))
    copy.sync()
    before = copy.held("posts")
    replace(posts, range(1, 31))
    copy.sync(codes=(5,))
    assert copy.held("posts") == before
    replace(posts, range(1, 121))
    copy.sync()
    assert copy.held("posts") == before == posts.truth()
    assert copy.json("status")["waiting"] == []


def test_a_loss_that_somebody_confirms_is_believed_after_a_second_look(posts, copy):
    copy.settings(LISTING.format(url=f'url = "{posts.server.url}/posts"'))
    copy.sync()
    replace(posts, range(1, 31))
    held = copy.sync(codes=(5,))["listings"][0]
    copy.json("sync", "--accept", str(held["run"]))
    assert copy.gone("posts") == set()
    copy.sync()
    assert copy.held("posts") == posts.truth()
    assert copy.gone("posts") == {str(number) for number in range(31, 121)}
