"""Decode bytes by the encodings of the web, and character references.

The labels of encodings are those of the WHATWG Encoding Standard. Python's own registry
is unsafe: it also has ``hex``, ``zip`` and ``idna``, and a server may name any of them.
"""

import codecs
import html
import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache

PRESCAN = 4096  # bytes in which a page may declare its encoding; the standard has 1024
_STEP = 1 << 20  # bytes decoded at once; then other threads may run
_LABELS = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
    "cp866": "866 cp866 csibm866 ibm866",
    "iso8859-2": "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2"
    " iso_8859-2:1987 l2 latin2",
    "iso8859-3": "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3"
    " iso_8859-3:1988 l3 latin3",
    "iso8859-4": "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4"
    " iso_8859-4:1988 l4 latin4",
    "iso8859-5": "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595"
    " iso_8859-5 iso_8859-5:1988",
    "iso8859-6": "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114"
    " iso-8859-6 iso-8859-6-e iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6"
    " iso_8859-6:1987",
    "iso8859-7": "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126"
    " iso8859-7 iso88597 iso_8859-7 iso_8859-7:1987 sun_eu_greek",
    "iso8859-8": "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e"
    " iso-ir-138 iso8859-8 iso88598 iso_8859-8 iso_8859-8:1988 visual"
    " csiso88598i iso-8859-8-i logical",
    "iso8859-10": "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "iso8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso8859-15": "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
    "iso8859-16": "iso-8859-16",
    "koi8-r": "cskoi8r koi koi8 koi8-r koi8_r",
    "koi8-u": "koi8-ru koi8-u",
    "mac-roman": "csmacintosh mac macintosh x-mac-roman",
    "cp874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "cp1250": "cp1250 windows-1250 x-cp1250",
    "cp1251": "cp1251 windows-1251 x-cp1251",
    "cp1252": "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1"
    " iso-ir-100 iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii"
    " windows-1252 x-cp1252 x-user-defined latin-1",  # the last: common, not listed
    "cp1253": "cp1253 windows-1253 x-cp1253",
    "cp1254": "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9"
    " iso_8859-9:1989 l5 latin5 windows-1254 x-cp1254",
    "cp1255": "cp1255 windows-1255 x-cp1255",
    "cp1256": "cp1256 windows-1256 x-cp1256",
    "cp1257": "cp1257 windows-1257 x-cp1257",
    "cp1258": "cp1258 windows-1258 x-cp1258",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "gb18030": "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk"
    " iso-ir-58 x-gbk gb18030",
    "big5hkscs": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc_jp": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "iso2022_jp": "csiso2022jp iso-2022-jp",
    "cp932": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "cp949": "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987"
    " ks_c_5601-1989 ksc5601 ksc_5601 windows-949",
    "utf-16-be": "unicodefffe utf-16be",
    "utf-16-le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
}
_CODECS = {label: codec for codec, row in _LABELS.items() for label in row.split()}
_WIDE = frozenset({"utf-16-le", "utf-16-be"})
_STATEFUL = _WIDE | {
    "utf-8", "gb18030", "big5hkscs", "euc_jp", "iso2022_jp", "cp932", "cp949",
}  # fmt: skip
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
)
_BOM_BYTES = frozenset({0xEF, 0xFE, 0xFF})
_HEADER = re.compile(r"""(?i);\s*+charset\s*+=\s*+["']?+\s*+([^\s;"',]{1,40}+)""")
_DECLARED = re.compile(
    rb"""(?ix)
      <!--(?:[^-]++|-(?!->))*+(?:-->)?+  # a comment
    | <meta(?=[\s/])([^>]*+)
    | <\?xml\s([^>]*+)
    | <body[\s>]
    """
)
_ATTRIBUTE = re.compile(
    rb"""([a-zA-Z-]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>/]++))"""
)
_CHARSET = re.compile(r"""(?i)charset\s*+=\s*+["']?+\s*+([^\s;"']{1,40}+)""")
_NUMBER = re.compile(r"&#([0-9]{8,}+)(;?+)")


def codec_of(label: str) -> str:
    """Return Python's codec for an encoding label of the web; empty if it is none.

    >>> codec_of(" Latin1"), codec_of("gbk"), codec_of("hex"), codec_of("utf-7")
    ('cp1252', 'gb18030', '', '')
    """
    return _CODECS.get(label.strip().lower(), "")


def encoding_of(content_type: str, body: bytes) -> str:
    """Return the codec of a page, as browsers choose it, by default UTF-8.

    A byte order mark decides, then the header, then the page's own declaration. Labels
    that browsers do not know are ignored.
    """
    if body[:1] and body[0] in _BOM_BYTES:
        for mark, codec in _BOMS:
            if body.startswith(mark):
                return codec
    return _named(content_type) or _declared(body[:PRESCAN]) or "utf-8"


@lru_cache(maxsize=256)
def _named(content_type: str) -> str:
    named = _HEADER.search(content_type)
    return codec_of(named[1]) if named else ""


def _declared(start: bytes) -> str:
    """Return the codec that a page declares; a page in UTF-16 cannot declare it."""
    for found in _DECLARED.finditer(start):
        tag = found[1] if found[1] is not None else found[2]
        if tag is None:
            if found[0][:2] == b"<!":
                continue
            return ""
        codec = codec_of(_label(tag))
        if codec:
            return "utf-8" if codec in _WIDE else codec
    return ""


def _label(tag: bytes) -> str:
    """Return the encoding that a meta element or an XML declaration names."""
    given: dict[bytes, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(tag):
        value = (double or single or bare).decode("latin-1")
        given.setdefault(name.lower(), value)
    if given.get(b"http-equiv", "").strip().lower() == "content-type":
        named = _CHARSET.search(given.get(b"content", ""))
        if named and b"charset" not in given:
            return named[1]
    return given.get(b"charset", "") or given.get(b"encoding", "")


def decode(body: bytes, codec: str) -> str:
    r"""Decode a body with a codec of ``encoding_of``; nothing is raised.

    Bytes that cannot be decoded become U+FFFD; a byte order mark is left out. The time
    is linear in the size of the body for any bytes.

    >>> decode(b"caf\xc3\xa9", "utf-8"), decode(b"\x80", "cp1252")
    ('café', '€')
    """
    if codec == "utf-8":
        text = body.decode(codec, "replace")
    else:
        steps = range(0, len(body), _STEP)
        text = "".join(decode_all((body[at : at + _STEP] for at in steps), codec))
    return text.removeprefix("\ufeff")


def decode_all(pieces: Iterable[bytes], codec: str) -> Iterator[str]:
    """Decode a body that comes in pieces, as ``decode`` does, marks included."""
    if codec in _STATEFUL:
        decoder = codecs.getincrementaldecoder(codec)("replace")
        for piece in pieces:
            yield decoder.decode(piece)
        yield decoder.decode(b"", final=True)
    else:
        for piece in pieces:
            yield codecs.charmap_decode(piece, "strict", _table(codec))[0]


@cache
def _table(codec: str) -> str:
    """Return the 256 characters of a single-byte encoding.

    Bytes below 160 without a character map to themselves, as in browsers. Python would
    call an error handler for each of them, which takes 0.5 us a byte.
    """
    known = (bytes([i]).decode(codec, "replace") for i in range(256))
    return "".join(
        chr(i) if char == "\ufffd" and i < 0xA0 else char
        for i, char in enumerate(known)
    )


def unescape(text: str) -> str:
    """Replace character references by their characters, as ``html.unescape`` does.

    Unlike that function, it does not raise for a number of more than 4300 digits.

    >>> unescape("&eacute;&#65;"), unescape("&#" + "0" * 5000 + "66;")
    ('éA', 'B')
    """
    return html.unescape(_NUMBER.sub(_shorten, text) if "&#" in text else text)


def _shorten(number: re.Match[str]) -> str:
    digits = number[1].lstrip("0") or "0"
    return f"&#{digits}{number[2]}" if len(digits) < 8 else "\ufffd"
