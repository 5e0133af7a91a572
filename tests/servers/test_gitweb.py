"""gitweb from Debian: the files of a repository as a listing, its commits as a feed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from server_parts import Server, free_port, live_through, need, running

GITWEB = Path("/usr/lib/cgi-bin/gitweb.cgi")
SERVE = Path(__file__).parent / "cgi_server.py"
LISTING = """
[[source]]
name = "repo"
kind = "listing"
url = "{url}/gitweb{tree}"
format = "html"
records = "table.tree tr"
key = "td.list a"
fields = {{mode = "td.mode", name = "td.list a"}}
confirm_hours = 0
allow = ["127.0.0.0/8"]
"""
FEED = """
[[source]]
name = "repo"
maps = ["{url}/gitweb{feed}"]
allow = ["127.0.0.0/8"]
"""
# gitweb writes addresses in one of two ways, as it is told to.
WAYS = {
    "paths": ("/tea.git/tree/HEAD", "/tea.git/atom"),
    "queries": ("?p=tea.git;a=tree;hb=HEAD", "?p=tea.git;a=atom"),
}


class Repository:
    """A bare repository that gitweb shows, and a clone to change it by."""

    def __init__(self, here, server):
        self.here = here
        self.server = server
        self.work = here / "work"
        (here / "repos").mkdir(parents=True)
        self.git("init", "-q", "--bare", "-b", "main", str(here / "repos/tea.git"))
        self.git("clone", "-q", str(here / "repos/tea.git"), str(self.work))

    def git(self, *words):
        who = {f"GIT_{x}_{y}": "t@example.org" for x in ("AUTHOR", "COMMITTER")
               for y in ("NAME", "EMAIL")}  # fmt: skip
        done = subprocess.run(
            ["git", *words],
            cwd=self.work if self.work.exists() else self.here,
            env={**os.environ, **who, "GIT_CONFIG_GLOBAL": "/dev/null"},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return done.stdout

    def commit(self, **files):
        """Write files, delete those that are None, and publish a commit."""
        for name, text in files.items():
            path = self.work / f"{name}.txt"
            path.unlink() if text is None else path.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", f"change {' '.join(files)}")
        self.git("push", "-q", "origin", "HEAD:main")

    def commits(self):
        """Return the commits, from the repository."""
        return set(self.git("log", "--format=%H").split())

    def files(self):
        """Return the files of the newest commit, from git."""
        names = self.git("ls-tree", "--name-only", "HEAD").split()
        return {name: {"mode": "-rw-r--r--", "name": name} for name in names}


@pytest.fixture(params=WAYS)
def repository(request, tmp_path):
    """A repository of 12 files, shown by gitweb."""
    need(str(GITWEB), "git")
    here, port = tmp_path / "git", free_port()
    conf = tmp_path / "gitweb.conf"
    conf.write_text(
        f'$projectroot = "{here}/repos"; $git_temp = "{tmp_path}";\n'
        f"$feature{{'pathinfo'}}{{'default'}} = [{int(request.param == 'paths')}];\n"
    )
    command = [sys.executable, str(SERVE), str(port), str(GITWEB), "/gitweb"]
    env = {"GITWEB_CONFIG": str(conf)}
    server = Server(command, port, tmp_path / "cgi.log", path="/robots.txt", env=env)
    repository = Repository(here, server)
    repository.tree, repository.feed = WAYS[request.param]
    repository.commit(**{f"tea{n}": f"tea number {n}\n" for n in range(12)})
    with running(server):
        yield repository


def alter(repository):
    """Let a file come, one change, one go, and one have another name."""
    repository.commit(tea1=None, tea2="another tea\n", tea20="a new tea\n")
    repository.commit(tea3=None, tea30="tea number 3\n")


def test_a_listing_holds_the_files_of_the_newest_commit_through_outages(
    repository, copy
):
    copy.settings(LISTING.format(url=repository.server.url, tree=repository.tree))
    live_through(
        copy,
        repository.server,
        "repo",
        alter=lambda: alter(repository),
        truth=repository.files,
        gone={"tea1.txt", "tea3.txt"},
    )
    assert copy.requests == [2, 1, 1, 1, 1, 1]


def test_the_feed_names_every_commit(repository, copy):
    copy.settings(FEED.format(url=repository.server.url, feed=repository.feed))
    copy.sync()
    repository.commit(tea3="changed\n")
    repository.commit(tea4=None)
    copy.sync("--all")
    copy.sync("--all")
    pages = copy.pages("repo")
    assert all(any(name in key for key in pages) for name in repository.commits())
