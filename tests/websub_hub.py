"""A publisher and a WebSub hub on loopback: they speak HTTP with subscribers."""

import hashlib
import hmac
import http.client
import threading
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

from listening import listening

CALLBACK = "http://public.example/mine"  # a proxy would lead it to the server


class Hub:
    """Keeps what subscribers asked for; verifies, and tells them of changes."""

    def __init__(self):
        self.url = ""
        self.server = ""  # host and port behind the callback
        self.asked = []
        self.secrets = {}  # by callback
        self.statuses = []  # of verifications
        self.text = "one"
        self.lease = "86400"
        self.is_named = True
        self.gets = 0

    @property
    def topic(self):
        return f"{self.url}/feed"

    def feed(self):
        named = (
            f'<link rel="hub" href="{self.url}/hub"/>'
            f'<link href="{self.topic}" rel="self"/>'
        )
        return (
            '<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom">'
            f"{named if self.is_named else ''}<title>t</title><entry><id>x</id>"
            f'<link href="/{self.text}"/><link rel="hub" href="http://evil.example/"/>'
            f"<title>{self.text}</title></entry></feed>"
        ).encode()

    def take(self, form):
        """Take a request of a subscriber, and ask it at once whether that is meant."""
        wish = {name: values[0] for name, values in parse_qs(form).items()}
        self.asked.append(wish)
        said = {
            "hub.mode": wish["hub.mode"],
            "hub.topic": wish["hub.topic"],
            "hub.challenge": f"challenge-{len(self.asked)}",
            "hub.lease_seconds": self.lease,
        }
        try:
            status, body = self.verify(wish["hub.callback"], said)
        except OSError:
            status, body = 0, b""
        self.statuses.append(status)
        if status == 200 and body.decode() == said["hub.challenge"]:
            self.secrets[wish["hub.callback"]] = wish.get("hub.secret", "")

    def verify(self, callback, said):
        return self.call("GET", f"{callback}?{urlencode(said)}", {})

    def call(self, method, address, headers, body=None):
        """Call a subscriber by its public address, as a proxy would lead it."""
        parts = urlsplit(address)
        path = parts.path.removeprefix("/mine") + ("?" + parts.query) * bool(
            parts.query
        )
        with closing(http.client.HTTPConnection(self.server, timeout=20)) as line:
            line.request(method, path, body, {"Host": parts.netloc, **headers})
            answer = line.getresponse()
            return answer.status, answer.read()

    def tell(self, callback, body, method="sha256", secret=None, topic=None):
        """Send a content to a subscriber; return the status."""
        key = self.secrets[callback] if secret is None else secret
        sign = hmac.new(key.encode(), body, getattr(hashlib, method)).hexdigest()
        headers = {
            "X-Hub-Signature": f"{method}={sign}",
            "Link": f'<{self.url}/hub>; rel="hub", <{topic or self.topic}>; rel="self"',
        }
        return self.call("POST", callback, headers, body)[0]


@contextmanager
def running_hub():
    """Serve a feed and its hub during the block."""
    hub = Hub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            is_feed = self.path == "/feed"
            hub.gets += is_feed
            self.reply(200, hub.feed() if is_feed else b"<p>a page</p>")

        def do_POST(self):
            size = int(self.headers["Content-Length"])
            hub.take(self.rfile.read(size).decode())
            self.reply(202, b"")

        def reply(self, status, body):
            self.send_response(status)
            self.send_header("Content-Type", "application/atom+xml")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Say nothing."""

    web = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{web.server_address[1]}"
    with listening(web, threading.Event()):
        yield hub
