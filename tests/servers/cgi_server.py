"""A web server that answers every request by running one CGI program (RFC 3875).

    python cgi_server.py PORT PROGRAM SCRIPT_NAME

The program answers below ``SCRIPT_NAME``; everything else is not there.
"""

import os
import subprocess
import sys
from email.parser import BytesHeaderParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote


class Handler(BaseHTTPRequestHandler):
    program = ""
    script = ""

    def do_GET(self):
        path, _, query = self.path.partition("?")
        if path != self.script and not path.startswith(f"{self.script}/"):
            self.send_error(404)
            return
        env = {
            **os.environ,
            "GATEWAY_INTERFACE": "CGI/1.1",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": str(self.server.server_address[1]),
            "REQUEST_METHOD": self.command,
            "REQUEST_URI": self.path,
            "SCRIPT_NAME": self.script,
            "PATH_INFO": unquote(path.removeprefix(self.script)),
            "QUERY_STRING": query,
            "REMOTE_ADDR": "127.0.0.1",
            "HTTP_HOST": self.headers.get("Host", ""),
            "HTTP_ACCEPT": self.headers.get("Accept", ""),
            "HTTP_IF_MODIFIED_SINCE": self.headers.get("If-Modified-Since", ""),
        }
        done = subprocess.run(
            [self.program], env=env, capture_output=True, timeout=60, check=False
        )
        self.answer(done.stdout)

    def answer(self, said):
        mark = b"\r\n\r\n" if b"\r\n\r\n" in said else b"\n\n"
        head, _, body = said.partition(mark)
        headers = BytesHeaderParser().parsebytes(head + mark)
        status = headers.get("Status", "200 OK")
        self.send_response(int(status.split()[0]))
        for name, value in headers.items():
            if name.lower() != "status":
                self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        return


if __name__ == "__main__":
    Handler.program, Handler.script = sys.argv[2:4]
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
