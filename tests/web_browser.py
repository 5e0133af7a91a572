"""A tab of a real browser that is watched, and whom a page excludes."""

from pathlib import Path

CHROMIUM = Path("/usr/bin/chromium")
GRAVE = {"serious", "critical"}


class Watched:
    """A tab, and everything that went wrong in it."""

    def __init__(self, tab, address):
        self.tab, self.base = tab, address.partition("/?")[0]
        self.wrong = []
        tab.on("console", self._said)
        tab.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        tab.on("dialog", self._asked)
        tab.on("request", self._sent)
        tab.goto(address)

    def _said(self, message):
        if message.type in {"error", "warning"}:
            self.wrong.append(f"{message.type}: {message.text}")

    def _asked(self, dialog):
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _sent(self, request):
        if not request.url.startswith((self.base, "data:")):
            self.wrong.append(f"asked for {request.url}")

    def goto(self, page):
        self.tab.goto(f"{self.base}/{page}")
        return self.tab


def grave(tab):
    from axe_playwright_python.sync_playwright import Axe  # noqa: PLC0415

    found = Axe().run(tab).response["violations"]
    return [
        f"{v['id']}: {v['nodes'][0]['html'][:120]}"
        for v in found
        if v["impact"] in GRAVE
    ]
