"""A visitor of the pages: speaks HTTP, sends what a test says, keeps no state."""

import http.client
import json
from contextlib import closing
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict
    body: bytes

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.body)


class Visitor:
    def __init__(self, served):
        parts = urlsplit(served.address)
        self.host, self.token = parts.netloc, parts.query.removeprefix("token=")
        self.site = served.app.state.site
        self.app = served.app

    @property
    def bearer(self):
        return {"Authorization": f"Bearer {self.token}"}

    def ask(self, method, path, headers=None, body=None):
        with closing(http.client.HTTPConnection(self.host, timeout=30)) as line:
            line.request(method, path, body, headers or {})
            answer = line.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read())

    def get(self, path, **headers):
        return self.ask("GET", path, {**self.bearer, **headers})

    def post(self, path, body, **headers):
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.ask("POST", path, {**self.bearer, **form, **headers}, body)
