"""The verb: what it prints, refuses, and how it ends."""

import builtins
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

from halflife.cli import main


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.delenv("HALFLIFE_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("trap", ["", "trap '' INT; "], ids=["alone", "in a script"])
def test_it_prints_an_address_that_works_and_ends_when_told(here, trap):
    words = f"{trap}exec {sys.executable} -m halflife serve --port 0"
    with subprocess.Popen(
        ["/bin/sh", "-c", words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        address = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{40,}", address)
        token = address.partition("token=")[2]
        page = address.partition("?")[0] + "overview"
        request = urllib.request.Request(
            page, headers={"Authorization": f"Bearer {token}"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert b"Nothing is kept yet" in answer.read()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert token not in said
    assert "Traceback" not in said
    assert not list(here.iterdir())  # looking left nothing behind


def test_an_address_for_everybody_has_to_be_meant(here, capsys):
    assert main(["serve", "--bind", "0.0.0.0", "--port", "0"]) == 2
    assert "--expose" in capsys.readouterr().err


def test_a_port_that_is_taken_is_said_to_be_so(here, capsys, full):
    port = full.host.partition(":")[2]
    assert main(["serve", "--port", port]) == 2
    assert "choose another --port" in capsys.readouterr().err


def test_settings_that_are_wrong_are_said_before_anything_is_served(here, capsys):
    (here / "halflife.toml").write_text("[budget]\nrequest = 1\n")
    assert main(["serve", "--port", "0"]) == 2
    assert "did you mean" in capsys.readouterr().err


def test_without_the_extra_it_says_what_to_install(here, capsys, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "halflife.web.server":
            raise ModuleNotFoundError("No module named 'uvicorn'", name="uvicorn")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    assert main(["serve"]) == 2
    assert "halflife[serve]" in capsys.readouterr().err
