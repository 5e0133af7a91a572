import stat
from pathlib import Path

import pytest

from halflife.config import Config, Secret
from halflife.config.edit import TEMPLATE, add_sources, init, replace, with_sources
from halflife.core.errors import ConfigError, UsageError
from halflife.kinds.pages.settings import PagesConfig


@pytest.fixture
def path(tmp_path):
    return tmp_path / "halflife.toml"


def complaint(text):
    with pytest.raises(ConfigError) as caught:
        Config.parse(text)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("halflife.toml: ")
    return message.removeprefix("halflife.toml: ")


def test_an_empty_file_means_the_defaults():
    config = Config.parse("")
    assert (config.budget.requests, config.budget.per) == (1000, "day")
    assert (config.policy.name, config.policy.objective) == ("champion", "harmonic")
    assert (config.fetch.delay, config.fetch.concurrency) == (1.0, 16)
    assert (config.fetch.timeout, config.fetch.max_bytes) == (30.0, 8 * 2**20)
    assert config.source == ()


def test_the_template_says_what_the_defaults_are(path):
    init(path)
    assert Config.load(path) == Config.parse("", path)


def test_the_commented_source_of_the_template_is_valid(path):
    begin = TEMPLATE.index("# [[source]]")
    example = TEMPLATE[begin:].replace("\n# ", "\n").removeprefix("# ")
    source = Config.parse(example).source[0]
    assert source.name == "docs"
    assert len(source.pages) == 2
    assert "Authorization" in source.headers


def test_init_refuses_to_overwrite(path):
    path.write_text("store = 'mine.db'\n")
    with pytest.raises(UsageError, match="exists already"):
        init(path)
    assert path.read_text() == "store = 'mine.db'\n"


@pytest.mark.parametrize(
    ("per", "days"), [("hour", 1 / 24), ("day", 1), ("week", 7), ("month", 30)]
)
def test_the_pace_is_requests_a_day(per, days):
    budget = Config.parse(f"[budget]\nrequests = 84\nper = '{per}'").budget
    assert budget.days == pytest.approx(days)
    assert budget.pace == pytest.approx(84 / days)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("stor = 'x'", "stor: unknown key; did you mean 'store'?"),
        (
            "[budget]\nrequets = 1",
            "budget.requets: unknown key; did you mean 'requests'?",
        ),
        (
            "[[source]]\nname='a'\n[[source]]\nname='b'\nwieght=2",
            "source[2].wieght: unknown key; did you mean 'weight'?",
        ),
        ("[budget]\nzzz = 1", "budget.zzz: unknown key; known keys are requests, per"),
        ("path = 'x'", "path: unknown key; "),
        (
            "[budget]\nrequests = -5",
            "budget.requests: input should be greater than or equal to 1; got -5",
        ),
        ("[budget]\nrequests = 1.5", "budget.requests: input should be a valid int"),
        ("[budget]\nper = 'year'", "budget.per: input should be 'hour', 'day', 'week'"),
        ("[fetch]\ndelay = -1", "fetch.delay: input should be greater"),
        ("[fetch]\ndelay = nan", "fetch.delay: input should be"),
        ('[fetch]\ncontact = "a\\nb"', "fetch.contact: must be one line"),
        ("source = 3", "source: input should be"),
        ("[[source]]\npages=[]", "source[1].name: field required"),
        ("[[source]]\nname='a b'", "source[1].name: string should match"),
        ("[[source]]\nname='a'\nweight=0", "source[1].weight: input should be gre"),
        ("[[source]]\nname='a'\nallow=['x']", "source[1].allow[1]: 'x' does not"),
        (
            "[[source]]\nname='a'\n[[source]]\nname='a'",
            "two sources are named 'a'; rename one of them",
        ),
        ("x", "not valid TOML: "),
    ],
)
def test_a_wrong_setting_is_named_in_one_line(text, said):
    assert complaint(text).startswith(said)


def test_the_first_of_names_given_twice_is_told():
    named = (f"[[source]]\nname='{name}'\n" for name in "cabba")
    assert complaint("".join(named)).startswith("two sources are named 'a'")


def test_malformed_toml_is_reported_with_its_line():
    assert "line 3" in complaint("store = 'x'\n\n[budget\n")


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://example.org/",
        "example.org",
        "http://",
        "http://[::1",
        "http://example.org:99999/",
        "https://user:hunter2@example.org/",
        "http://a.example\\@b.example/",
        "http://example.org/a b",
        "http://example.org/\\u0000",
        "javascript:alert(1)",
    ],
)
@pytest.mark.parametrize("key", ["pages", "maps"])
def test_only_web_urls_can_be_kept(url, key):
    toml = url if "\\u" in url else url.replace("\\", "\\\\")
    said = complaint(f'[[source]]\nname = "a"\n{key} = ["{toml}"]')
    assert said.startswith(f"source[1].{key}[1]: ")
    assert "hunter2" not in said


def test_a_missing_file_says_what_to_do(path):
    with pytest.raises(ConfigError, match="run `halflife init`"):
        Config.load(path)


def test_a_file_that_is_not_text_is_refused(path):
    path.write_bytes(b"store = '\xff\xfe'")
    with pytest.raises(ConfigError, match=r"not UTF-8 text \(byte 9\)"):
        Config.load(path)


def test_a_directory_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="not a file; name one with --config"):
        Config.load(tmp_path)


def test_a_byte_order_mark_is_no_harm(path):
    path.write_bytes(b"\xef\xbb\xbfstore = 'x.db'\n")
    assert Config.load(path).store == "x.db"


def test_the_store_lies_beside_the_file_unless_its_path_is_absolute(path):
    assert Config.parse("", path).store_path == path.parent / "halflife.db"
    assert Config.parse("store='/v/x.db'", path).store_path == Path("/v/x.db")


def test_the_file_is_found_by_option_then_environment_then_here(monkeypatch):
    monkeypatch.delenv("HALFLIFE_CONFIG", raising=False)
    assert Config.find() == Path("halflife.toml")
    monkeypatch.setenv("HALFLIFE_CONFIG", "/etc/h.toml")
    assert Config.find() == Path("/etc/h.toml")
    assert Config.find(Path("mine.toml")) == Path("mine.toml")


def test_sources_are_picked_by_name():
    config = Config.parse("[[source]]\nname='docs'\n[[source]]\nname='news'")
    assert [s.name for s in config.named()] == ["docs", "news"]
    assert [s.name for s in config.named(["news"])] == ["news"]
    with pytest.raises(UsageError, match="did you mean 'docs'"):
        config.named(["doc"])


def test_settings_cannot_be_changed_after_reading():
    with pytest.raises(ValueError, match="frozen"):
        Config.parse("").budget.requests = 5


WITH_HEADER = """
[[source]]
name = "docs"
[source.headers]
Accept-Language = "en"
Authorization = {env = "CANARY_TOKEN"}
"""


def test_a_secret_comes_from_the_environment_and_never_prints(monkeypatch):
    monkeypatch.setenv("CANARY_TOKEN", "hunter2")
    config = Config.parse(WITH_HEADER)
    headers = config.source[0].secrets()
    assert headers["Authorization"].reveal() == "hunter2"
    assert headers["Accept-Language"].reveal() == "en"
    shown = f"{headers} {config} {config!r} {config.model_dump_json()}"
    assert "hunter2" not in shown
    assert str(Secret("x")) == repr(Secret("x")) == f"{Secret('x')}" == "***"


def test_a_secret_that_is_not_set_is_reported_by_its_name(monkeypatch):
    monkeypatch.delenv("CANARY_TOKEN", raising=False)
    with pytest.raises(ConfigError, match="CANARY_TOKEN, which is not set"):
        Config.parse(WITH_HEADER).source[0].secrets()


def test_a_header_cannot_be_split_by_the_environment(monkeypatch):
    monkeypatch.setenv("CANARY_TOKEN", "a\r\nX-Evil: 1")
    with pytest.raises(ConfigError, match="holds control characters") as caught:
        Config.parse(WITH_HEADER).source[0].secrets()
    assert "Evil" not in str(caught.value)


@pytest.mark.parametrize("header", ["Authorization", "cookie", "X-API-Key"])
def test_a_secret_must_not_stand_in_the_file(header):
    said = complaint(f"[[source]]\nname='a'\n[source.headers]\n{header} = 'hunter2'")
    assert "must come from the environment" in said
    assert "hunter2" not in said


def test_a_wrong_header_is_refused_without_showing_its_value():
    said = complaint('[[source]]\nname="a"\n[source.headers]\nX = "hunter2\\r\\nY: 1"')
    assert said == "source[1].headers.X: must be one line without control characters"
    assert "hunter2" not in said
    assert "not a header name" in complaint(
        "[[source]]\nname='a'\n[source.headers]\n'X Y' = '1'"
    )


MINE = """\
# my settings
store = "mine.db"  # here

[[source]]  # the docs
name = "docs"
pages = ["https://example.org/"]  # start

[[source]]
name = "news"
"""


def test_adding_to_a_source_keeps_comments_and_known_pages(path):
    path.write_text(MINE)
    pages = ("https://example.org/", "https://example.org/b")
    config = add_sources(path, [PagesConfig(name="docs", pages=pages)])
    assert config.source[0].pages == pages
    assert config == Config.load(path)
    text = path.read_text()
    for comment in ("# my settings", "# here", "# the docs", "# start"):
        assert comment in text
    assert config.source[1].name == "news"


def test_adding_a_new_source_puts_it_last(path):
    path.write_text(MINE)
    new = PagesConfig(
        name="new", maps=("https://new.example/s.xml",), weight=3.0, allow=("::1/128",)
    )
    other = PagesConfig(name="other", pages=("https://other.example/",))
    config = add_sources(path, [new, other])
    assert config.source[2:] == (new, other)
    assert path.read_text().startswith(MINE.rstrip())


def test_adding_to_a_fresh_template_works_twice(path):
    init(path)
    for name in ("a", "b"):
        page = f"https://{name}.example/"
        add_sources(path, [PagesConfig(name=name, pages=(page,))])
    assert [s.name for s in Config.load(path).source] == ["a", "b"]


def test_a_dry_run_writes_nothing(path):
    path.write_text(MINE)
    new = PagesConfig(name="new", pages=("https://new.example/",))
    assert "new.example" in with_sources(path, [new])
    assert path.read_text() == MINE


def test_a_broken_file_is_left_alone(path):
    path.write_text("[budget]\nrequests = -1\n")
    with pytest.raises(ConfigError):
        add_sources(path, [PagesConfig(name="a")])
    assert path.read_text() == "[budget]\nrequests = -1\n"


def test_replacing_keeps_the_mode_follows_links_and_leaves_no_litter(tmp_path):
    real, link = tmp_path / "real.toml", tmp_path / "link.toml"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)
    replace(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert sorted(tmp_path.iterdir()) == [link, real]


def test_a_failed_replacement_leaves_the_old_file(tmp_path):
    target = tmp_path / "gone" / "halflife.toml"
    with pytest.raises(ConfigError, match="cannot be written"):
        replace(target, "new")
