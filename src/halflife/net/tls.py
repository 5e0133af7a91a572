"""TLS settings of a source: trusted certificates, and our own certificate."""

import ssl
from functools import lru_cache
from pathlib import Path

from halflife.core.errors import ConfigError


def context(ca: str = "", certificate: str = "", key: str = "") -> ssl.SSLContext:
    """Return a TLS context, cached while the files stay unchanged.

    Certificates of the system are trusted beside those in ``ca``. Raise ``ConfigError``
    if a file cannot be used.
    """
    marks = tuple(_mark(name, path) for name, path in _named(ca, certificate, key))
    return _make(ca, certificate, key, marks)


def _named(ca: str, certificate: str, key: str) -> list[tuple[str, str]]:
    given = (("ca", ca), ("certificate", certificate), ("certificate_key", key))
    return [(name, path) for name, path in given if path]


def _mark(name: str, path: str) -> tuple[int, int]:
    try:
        found = Path(path).expanduser().stat()
    except OSError as error:
        raise ConfigError(f"{name}: {path} cannot be read: {error.strerror}") from None
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=64)
def _make(
    ca: str, certificate: str, key: str, marks: tuple[tuple[int, int], ...]
) -> ssl.SSLContext:
    del marks  # part of the cache key: a file that was replaced is read again
    tls = ssl.create_default_context()
    if ca:
        try:
            tls.load_verify_locations(str(Path(ca).expanduser()))
        except OSError:
            raise ConfigError(
                f"ca: {ca} holds no certificates; give a file in PEM format"
            ) from None
    if certificate:
        file, secret = (str(Path(p).expanduser()) for p in (certificate, key))
        try:
            tls.load_cert_chain(file, secret if key else None, _no_password)
        except (OSError, ValueError):
            raise ConfigError(
                f"certificate: {certificate} is no certificate with its key; give "
                "both in PEM format, the key without a password"
            ) from None
    return tls


def _no_password() -> str:
    """Keep the library from prompting at the terminal."""
    raise ValueError("the key has a password")
