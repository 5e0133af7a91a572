"""A GraphQL server: the connection of Relay over a table, by graphene."""

import json
import sqlite3
import sys
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import graphene
from graphene import relay

DATABASE = sys.argv[2]


class Tea(graphene.ObjectType):
    class Meta:
        interfaces = (relay.Node,)

    name = graphene.String()
    price = graphene.Int()


class TeaConnection(relay.Connection):
    class Meta:
        node = Tea

    total_count = graphene.Int()

    def resolve_total_count(self, _):
        return len(self.iterable)


class Query(graphene.ObjectType):
    teas = relay.ConnectionField(TeaConnection)

    def resolve_teas(self, _, **__):
        with closing(sqlite3.connect(DATABASE)) as db:
            rows = db.execute("SELECT id, name, price FROM tea ORDER BY id").fetchall()
        return [Tea(id=key, name=name, price=price) for key, name, price in rows]


SCHEMA = graphene.Schema(query=Query)


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        size = int(self.headers.get("Content-Length", "0"))
        asked = json.loads(self.rfile.read(size))
        done = SCHEMA.execute(asked["query"], variables=asked.get("variables"))
        errors = [{"message": str(error)} for error in done.errors or ()]
        answer = {"data": done.data, **({"errors": errors} if errors else {})}
        self.answer(200, json.dumps(answer).encode())

    def do_GET(self):
        self.answer(404, b"")

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        return


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
