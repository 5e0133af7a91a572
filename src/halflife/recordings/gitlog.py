"""Every version of a file in a git repository.

Git is run as a program, without a shell, and never uses the network: a repository
that lacks objects has a history with gaps.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from halflife.core.errors import UsageError
from halflife.recordings.snapshots import DatedFile

SECONDS_A_DAY = 86400.0
LARGEST = 64 << 20  # bytes of a version
_OFFLINE = ("-c", "protocol.allow=never", "--no-pager", "--literal-pathspecs")


def versions(repo: Path, path: str) -> Iterator[DatedFile]:
    """Yield the file as each commit that touched it left it, oldest first.

    Of commits made in the same second the last one counts. Raise ``UsageError``
    if there is no such repository or file.
    """
    if "\n" in path or path.startswith("/"):
        raise UsageError(f"{path!r} must be a path inside the repository")
    commits = _commits(repo, path)
    if not commits:
        raise UsageError(f"no commit in {repo} touched {path}")
    command = [*_git(repo), "cat-file", "--batch"]
    with subprocess.Popen(  # noqa: S603  (no shell; the repository is the user's)
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as git:
        assert git.stdin is not None
        assert git.stdout is not None
        for at, commit in commits:
            git.stdin.write(f"{commit}:{path}\n".encode())
            git.stdin.flush()
            yield _version(at, path, git.stdout)


def _git(repo: Path) -> list[str]:
    return ["git", "-C", str(repo), *_OFFLINE]


def _commits(repo: Path, path: str) -> list[tuple[float, str]]:
    """Return the time and name of each commit, in the order of time."""
    command = [*_git(repo), "log", "--format=%ct %H", "--reverse", "--", path]
    try:
        done = subprocess.run(  # noqa: S603  (no shell; the repository is the user's)
            command, capture_output=True, check=False
        )
    except OSError as error:
        raise UsageError(f"git cannot be run: {error}") from None
    if done.returncode:
        message = " ".join(done.stderr.decode("utf-8", "replace").split())
        raise UsageError(f"{repo}: {message or 'git log failed'}")
    rows = [line.split() for line in done.stdout.decode("ascii").splitlines()]
    latest = {int(seconds): commit for seconds, commit in rows}
    return [(s / SECONDS_A_DAY, latest[s]) for s in sorted(latest)]


def _version(at: float, path: str, answers: IO[bytes]) -> DatedFile:
    """Read one answer of ``git cat-file --batch``."""
    head = answers.readline().split()
    if len(head) < 3 or head[-1] == b"missing" or not head[-1].isdigit():
        return DatedFile(at, path, None, "the file is not there")
    size = int(head[-1])
    body = _exactly(answers, size)
    answers.read(1)  # the line's end
    if body is None:
        return DatedFile(at, path, None, f"it is larger than {LARGEST} bytes")
    if head[-2] != b"blob":
        return DatedFile(at, path, None, f"it is a {head[-2].decode()}, not a file")
    return DatedFile(at, path, body)


def _exactly(answers: IO[bytes], size: int) -> bytes | None:
    """Read ``size`` bytes; skip them and return None if they are too many."""
    if size <= LARGEST:
        return answers.read(size)
    left = size
    while left > 0:
        left -= len(answers.read(min(left, 1 << 20))) or left
    return None
