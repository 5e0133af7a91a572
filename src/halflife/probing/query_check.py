"""Whether a database heeds what it is asked for.

Some searches answer whatever is asked with the same documents: the parameter has
another name, or the search is broken. All that can be learned from these is what they
show always, so sampling must end at once.
"""

from collections.abc import Callable

from halflife.core.search import SearchAnswer

ALIKE = 3  # answers with documents that must all be the same to be suspicious
WATCHED = 10  # answers with documents after which a database is taken to heed queries
UNMET = 0.2  # of the documents shown in full hold the words asked for, at most
MET = 0.8  # at least after the last answer: by chance, frequent words are met often
NONSENSE = "qzxvjwkyqzpf"  # a word that no document holds


class QueryCheck:
    """Watches the first answers, and asks for nonsense if they are suspicious.

    Suspicious are answers to different queries that show the same documents or tell
    the same total, and documents that do not hold what was asked for. The database
    ignores queries if a word that nobody has finds documents too, and these are the
    same ones again, or the same query finds others each time it is asked.

    Args:
        search: Asks the database.

    Attributes:
        ignored: Whether the database was found to ignore queries.

    """

    def __init__(self, search: Callable[[str], SearchAnswer]) -> None:
        self.ignored = False
        self._search = search
        self._heard: list[tuple[str, SearchAnswer]] = []
        self._done = False
        self._met = self._shown = 0

    def hear(self, query: str, answer: SearchAnswer) -> None:
        """Take in an answer; ask for more, at most twice, if it is suspicious."""
        if self._done or not answer.documents:
            return
        self._heard.append((query, answer))
        words = set(query.lower().split())
        whole = [document for document in answer.documents if document.whole]
        self._shown += len(whole)
        self._met += sum(words <= set(document.words) for document in whole)
        self._done = len(self._heard) >= WATCHED
        if len(self._heard) >= ALIKE and self._suspicious(MET if self._done else UNMET):
            self._done = True
            self.ignored = self._is_ignored()

    def _suspicious(self, held: float) -> bool:
        """Say whether answers are alike, or too few documents hold what was asked."""
        answers = [answer for _, answer in self._heard]
        first = answers[0]
        same = all(_keys(answer) == _keys(first) for answer in answers)
        told = first.total is not None and all(a.total == first.total for a in answers)
        return same or told or self._met < held * self._shown

    def _is_ignored(self) -> bool:
        query, first = self._heard[0]
        nothing = self._search(NONSENSE)
        if not nothing.documents:
            return False
        answers = [nothing, *(answer for _, answer in self._heard)]
        if all(_keys(answer) == _keys(first) for answer in answers):
            return True
        again = self._search(query)
        return bool(again.documents) and _keys(again) != _keys(first)


def _keys(answer: SearchAnswer) -> frozenset[str]:
    return frozenset(document.key for document in answer.documents)
