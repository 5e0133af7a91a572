"""Settings of sinks: errors in one clear line, and no secret in any of them."""

import pytest

from halflife.config import Config
from halflife.core.errors import ConfigError

HOOK = '[[sink]]\nname = "hook"\nkind = "webhook"\nurl = "https://a.example/in"\n'


def complaint(text):
    with pytest.raises(ConfigError) as caught:
        Config.parse(text)
    said = str(caught.value)
    assert "\n" not in said
    return said.removeprefix("halflife.toml: ")


def test_a_sink_is_read_by_the_settings_of_its_kind():
    (sink,) = Config.parse(HOOK + 'secret = {env = "KEY"}\nkinds = ["gone"]\n').sink
    assert (sink.name, sink.kind, sink.batch, sink.timeout) == (
        "hook",
        "webhook",
        100,
        10,
    )
    assert sink.kinds == ("gone",)
    assert "a.example" not in repr(sink)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[sink]]\nname = "x"\n', "sink[1].kind: is needed; kinds are atom, command"),
        (
            '[[sink]]\nname = "x"\nkind = "kafka"\n',
            "sink[1].kind: unknown kind of sink 'kafka'; kinds are atom, command",
        ),
        (
            HOOK.replace('"hook"', '"a hook"'),
            "sink[1].name: must be letters, digits, dots, dashes and underscores",
        ),
        (HOOK + 'pth = "x"\n', "sink[1].pth: unknown key; keys of a sink of kind"),
        (HOOK + "bath = 3\n", "sink[1].bath: unknown key; did you mean 'batch'?"),
        (HOOK + HOOK, "two sinks are named 'hook'; rename one of them"),
        (
            HOOK + 'sources = ["jobs"]\n',
            "sink hook: no source is named 'jobs'; sources: none",
        ),
        (
            HOOK + 'kinds = ["deleted"]\n',
            "sink[1].kinds[1]: is not a kind of change; there are new, changed, gone",
        ),
        (HOOK + "batch = 0\n", "sink[1].batch: input should be greater than or equal"),
        (
            '[[sink]]\nname = "f"\nkind = "jsonl"\n',
            "sink[1].path: field required",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(text, said):
    assert complaint(text).startswith(said)


@pytest.mark.parametrize("kind", ["webhook", "sql"])
def test_an_address_with_a_password_is_not_shown(kind):
    url = "https://user:hunter2@a.example/" if kind == "webhook" else "hunter2\\n"
    text = f'[[sink]]\nname = "x"\nkind = "{kind}"\nurl = "{url}"\n'
    assert "hunter2" not in complaint(text)


def test_a_secret_that_is_not_set_is_named_by_its_variable(monkeypatch):
    monkeypatch.delenv("HALFLIFE_TEST_KEY", raising=False)
    (sink,) = Config.parse(HOOK + 'secret = {env = "HALFLIFE_TEST_KEY"}\n').sink
    with pytest.raises(ConfigError, match=r"sink hook: secret comes from .*_TEST_KEY"):
        sink.check_secrets()


def test_settings_without_sinks_do_not_look_for_any(monkeypatch):
    def fail(**_):
        raise AssertionError

    monkeypatch.setattr("importlib.metadata.entry_points", fail)
    assert Config.parse("").sink == ()
