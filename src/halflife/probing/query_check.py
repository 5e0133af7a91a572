"""A check that a database does not ignore queries.

Some searches return the same documents for every query: the parameter has another name,
or the search is broken. All that can be learned from these is what they always show, so
sampling must end at once.
"""

from collections.abc import Callable

from halflife.core.search import SearchAnswer

ALIKE = 3  # answers with documents that must all be the same to be suspicious
WATCHED = 10  # answers with documents after which a database passes the check
UNMET = 0.2  # of the documents shown in full have the words of the query, at most
MET = 0.8  # at least after the last answer: by chance, frequent words are met often
NONSENSE = "qzxvjwkyqzpf"  # a word that is in no document


class QueryCheck:
    """Watches the first answers, and searches for nonsense if they are suspicious.

    Suspicious are answers to different queries that show the same documents or report
    the same total, and documents without the words of the query. The database ignores
    queries if a nonsense word has hits too, and these are the same ones again, or the
    same query has other hits each time.

    Args:
        search: Queries the database.
        spent: Says whether no request is left; then nothing more is searched for.

    Attributes:
        ignored: Whether the database was found to ignore queries.

    """

    def __init__(
        self,
        search: Callable[[str], SearchAnswer],
        spent: Callable[[], bool] = lambda: False,
    ) -> None:
        self.ignored = False
        self._search, self._spent = search, spent
        self._answers: list[tuple[str, SearchAnswer]] = []
        self._done = False
        self._met = self._shown = 0

    def add(self, query: str, answer: SearchAnswer) -> None:
        """Add an answer; send further queries, at most twice, if it is suspicious."""
        if self._done or not answer.documents:
            return
        self._answers.append((query, answer))
        words = set(query.lower().split())
        whole = [document for document in answer.documents if document.whole]
        self._shown += len(whole)
        self._met += sum(words <= set(document.words) for document in whole)
        self._done = len(self._answers) >= WATCHED
        least = MET if self._done else UNMET
        enough = len(self._answers) >= ALIKE and not self._spent()
        if enough and self._suspicious(least):
            self._done = True
            self.ignored = self._is_ignored()

    def _suspicious(self, held: float) -> bool:
        """Say whether answers are alike, or too few documents have the words."""
        answers = [answer for _, answer in self._answers]
        first = answers[0]
        same = all(_keys(answer) == _keys(first) for answer in answers)
        total = first.total is not None and all(a.total == first.total for a in answers)
        return same or total or self._met < held * self._shown

    def _is_ignored(self) -> bool:
        query, first = self._answers[0]
        nothing = self._search(NONSENSE)
        if not nothing.documents:
            return False
        answers = [nothing, *(answer for _, answer in self._answers)]
        if all(_keys(answer) == _keys(first) for answer in answers):
            return True
        if self._spent():
            return False
        again = self._search(query)
        return bool(again.documents) and _keys(again) != _keys(first)


def _keys(answer: SearchAnswer) -> frozenset[str]:
    return frozenset(document.key for document in answer.documents)
