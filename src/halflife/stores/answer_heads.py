"""Status lines and headers of answers, stored beside the copies of pages.

Headers are similar from page to page but too short to compress by themselves, so the
compressor gets a dictionary of frequent words.
"""

import zlib

STATEMENTS = (
    # zlib with the words below; NULL if the headers were not kept
    "ALTER TABLE content ADD COLUMN head BLOB",
    "ALTER TABLE page_version ADD COLUMN head BLOB",
    "ALTER TABLE held_page ADD COLUMN head BLOB",
)
# Never change this: stored headers are read with it. The most frequent words come last.
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


def pack(head: str) -> bytes | None:
    """Return headers in compressed form; None if there are none."""
    if not head:
        return None
    packer = zlib.compressobj(6, wbits=-15, zdict=_WORDS)
    return packer.compress(head.encode()) + packer.flush()


def unpack(head: bytes | None) -> str:
    """Return compressed headers; empty if there are none, or they are unreadable."""
    if head is None:
        return ""
    try:
        text = zlib.decompressobj(wbits=-15, zdict=_WORDS).decompress(head, 1 << 16)
        return text.decode()
    except (zlib.error, UnicodeDecodeError):
        return ""
