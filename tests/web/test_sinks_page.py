"""What the overview says of sinks."""

from sink_parts import changes, deliver, opened, settings

TEXT = """
[[source]]
name = "docs"
pages = ["http://a.example/"]
[[sink]]
name = "log"
kind = "jsonl"
path = "changes.jsonl"
[[sink]]
name = "bad"
kind = "command"
command = ["/bin/false"]
"""


def test_the_overview_names_sinks_that_fail(tmp_path, visit):
    config = settings(tmp_path, TEXT)
    with opened(config) as store:
        store.changes.append(changes(3))
        deliver(config, store)
    text = visit(config.path).get("/overview").text
    assert "1 <span" in text
    assert "of 2 receive changes" in text
    assert "bad, 3 behind: 1 try failed: it exited with 1" in text
