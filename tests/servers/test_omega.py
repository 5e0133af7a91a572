"""Xapian Omega from Debian: a text database behind a search form."""

import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from server_parts import Server, free_port, holds, need, running

OMEGA = Path("/usr/lib/cgi-bin/omega/omega")
TEMPLATES = Path("/usr/share/xapian-omega/templates")
SERVE = Path(__file__).parent / "cgi_server.py"
SCRIPT = """
id : boolean=Q unique=Q
title : field=caption index=S index
colour : boolean=XC
text : field=sample index
url : field
"""
VOCABULARY = [f"{a}{b}{c}" for a in "bdfglm" for b in "aeiou" for c in "nrt"]
# Omega's own page of results: one row a hit, "1-10 of exactly 60 matches" above it.
FORM = """
[[source]]
name = "teas"
kind = "form"
form_url = "{url}/omega?DB=default&HITSPERPAGE={{count}}&TOPDOC={{offset}}"
format = "html"
records = "table tr"
key = "b a@href"
total = "center"
per_page = 10
purpose = "both"
allow = ["127.0.0.0/8"]
[source.fields]
title = "b a"
[source.attributes]
title = {{kind = "keyword", param = "P"}}
colour = {{kind = "select", param = "B", values = ["XC0", "XC1", "XC2"]}}
"""
SEARCH = """
[[source]]
name = "teas"
kind = "search"
search_url = "{url}/omega?P={{query}}&FMT=opensearch&DEFAULTOP=and\
&HITSPERPAGE={{count}}&TOPDOC={{offset}}"
allow = ["127.0.0.0/8"]
"""


class Index:
    """A Xapian database, written by Omega's own indexer."""

    def __init__(self, here, server):
        self.here = here
        self.server = server
        self.records = {}

    def write(self, *numbers, version=1):
        """Add documents, or replace those that are there."""
        dump = "".join(self._record(number, version) for number in numbers)
        self._index(dump, SCRIPT)

    def delete(self, *numbers):
        """Delete documents: a record with nothing but its identity does that."""
        for number in numbers:
            del self.records[f"http://tea.example/{number}"]
        self._index("".join(f"id=tea{n}\n\n" for n in numbers), SCRIPT)

    def rename(self, old, new):
        """Let a document have another address."""
        self.delete(old)
        self.write(new)

    def truth(self):
        """Return the documents of the database by their addresses, from Xapian."""
        said = delve("-A", "Q", self.here)
        names = {word for word in said.split() if word.startswith("Qtea")}
        known = {f"Qtea{url.rpartition('/')[2]}" for url in self.records}
        assert names == known  # what was written is what is there
        return {url: {"title": title} for url, title in self.records.items()}

    def _record(self, number, version):
        words = " ".join(Random(number).sample(VOCABULARY, 12))
        title = f"Tea {number} v{version}"
        self.records[f"http://tea.example/{number}"] = title
        return (
            f"id=tea{number}\ntitle={title}\ncolour={number % 3}\n"
            f"text={words}\nurl=http://tea.example/{number}\n\n"
        )

    def _index(self, dump, script):
        (self.here / "script").write_text(script)
        (self.here / "dump").write_text(dump)
        subprocess.run(
            ["scriptindex", "data/default", "script", "dump"],
            cwd=self.here,
            capture_output=True,
            timeout=60,
            check=True,
        )


def delve(*words):
    here = words[-1]
    done = subprocess.run(
        ["xapian-delve", *words[:-1], str(here / "data/default")],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


@pytest.fixture
def index(tmp_path):
    """A database of 60 documents behind Omega."""
    need(str(OMEGA), "scriptindex", "xapian-delve")
    here, port = tmp_path / "omega", free_port()
    for folder in ("data", "log", "cdb"):
        (here / folder).mkdir(parents=True)
    shutil.copytree(TEMPLATES, here / "templates")
    (here / "omega.conf").write_text(
        f"database_dir {here}/data\ntemplate_dir {here}/templates\n"
        f"log_dir {here}/log\ncdb_dir {here}/cdb\n"
    )
    command = [sys.executable, str(SERVE), str(port), str(OMEGA), "/omega"]
    env = {"OMEGA_CONFIG_FILE": str(here / "omega.conf")}
    server = Server(command, port, tmp_path / "cgi.log", path="/robots.txt", env=env)
    index = Index(here, server)
    index.write(*range(60))
    with running(server):
        yield index


def test_a_form_holds_what_the_index_does_through_an_outage(index, copy):
    copy.settings(FORM.format(url=index.server.url))
    copy.sync()
    before = copy.held("teas")
    assert before == index.truth()
    index.write(*range(100, 112))
    index.write(5, 15, 25, version=2)
    index.delete(7, 40)
    index.rename(11, 200)
    with index.server.down():
        copy.sync(codes=(4,))
        assert copy.held("teas") == before
    copy.sync()
    copy.sync()
    assert copy.held("teas") == index.truth()


def test_a_summary_of_the_search_agrees_with_the_index(index, copy):
    copy.settings(SEARCH.format(url=index.server.url))
    words = index.here / "words"
    words.write_text("\n".join(VOCABULARY))
    order = ("summarize", "--snippets", "--documents", "30", "--dictionary", str(words))
    (first,) = copy.json(*order)["results"]
    # Omega shows no second page to a query that does not name the one before: what it
    # leaves out nobody can count, so that there is no upper bound.
    assert 45 <= first["size"]["mean"] <= 80, first
    assert holds(first["size"], 60), first
    with index.server.replaced(503):
        copy.json(*order, codes=(4,))
    assert copy.json("status")["searches"][0]["version"] == 1  # still in use
    index.write(*range(100, 160))
    index.delete(*range(10))
    copy.wait()
    (second,) = copy.json(*order)["results"]
    assert 83 <= second["size"]["mean"] <= 147, second
    assert holds(second["size"], 110), second


def test_the_search_box_of_the_form_is_found(index, copy):
    copy.settings()
    allow = ("--allow", "127.0.0.0/8")
    copy.run("add", "teas", "--form", f"{index.server.url}/omega", *allow)
    settings = (copy.here / "halflife.toml").read_text()
    assert '\nP = {kind = "keyword"' in settings
