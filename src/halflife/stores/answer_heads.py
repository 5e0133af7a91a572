"""Status lines and headers of answers, as they lie beside the copies of pages.

Headers are much alike from page to page and too short for a compressor to notice, so it
is given the words that most of them have.
"""

import zlib

from halflife.stores.database import Database

STATEMENTS = (
    # zlib with the words below; NULL if the headers were not kept
    "ALTER TABLE content ADD COLUMN head BLOB",
    "ALTER TABLE page_version ADD COLUMN head BLOB",
    "ALTER TABLE held_page ADD COLUMN head BLOB",
)
# Never to be changed: what is kept is read with it. The most frequent come last.
_WORDS = (
    b"X-Powered-By: PHP/8.Via: 1.1 varnishX-Cache: HITX-Cache: MISSX-Served-By: cache-"
    b"Age: 0Pragma: no-cacheExpires: Thu, 19 Nov 1981 08:52:00 GMTLink: <https://"
    b'>; rel="canonical"Alt-Svc: h3=":443"; ma=86400CF-RAY: CF-Cache-Status: DYNAMIC'
    b"Access-Control-Allow-Origin: *Permissions-Policy: Content-Security-Policy: "
    b"default-src 'self'; script-src 'unsafe-inline' https:; frame-ancestors 'none'"
    b"Referrer-Policy: strict-origin-when-cross-originX-XSS-Protection: 1; mode=block"
    b"X-Frame-Options: SAMEORIGINX-Content-Type-Options: nosniff\n"
    b"Strict-Transport-Security: max-age=31536000; includeSubDomains; preload\n"
    b'ETag: W/"Accept-Ranges: bytes\nVary: Accept-Encoding, Cookie, User-Agent\n'
    b"Cache-Control: public, private, no-cache, no-store, must-revalidate, max-age=0\n"
    b"Last-Modified: Mon, Tue, Wed, Thu, Fri, Sat, Sun, Jan Feb Mar Apr May Jun Jul "
    b"Aug Sep Oct Nov Dec 2025 2026 00:00:00 GMT\nContent-Encoding: gzip\n"
    b"Transfer-Encoding: chunked\nConnection: keep-alive\nServer: Apache cloudflare "
    b"nginx\nContent-Length: \nContent-Type: text/html; charset=utf-8\nDate: "
    b"HTTP/1.1 200 OK\n"
)


def create(db: Database) -> None:
    """Let every copy have its headers beside it."""
    for statement in STATEMENTS:
        db.execute(statement)


def packed(head: str) -> bytes | None:
    """Return headers as they are kept; None if there are none."""
    if not head:
        return None
    packer = zlib.compressobj(6, wbits=-15, zdict=_WORDS)
    return packer.compress(head.encode()) + packer.flush()


def unpacked(head: bytes | None) -> str:
    """Return headers as they were; empty if they were not kept, or cannot be read."""
    if head is None:
        return ""
    try:
        text = zlib.decompressobj(wbits=-15, zdict=_WORDS).decompress(head, 1 << 16)
        return text.decode()
    except (zlib.error, UnicodeDecodeError):
        return ""
