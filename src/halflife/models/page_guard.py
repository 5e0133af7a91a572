"""Decides whether new answers of a site's pages are credible, or resemble an outage.

A site under maintenance, behind a login or with broken routing often answers every
address with status 200 and one short text. Taken for changes, such answers would
overwrite every copy. Three signs show them, and none depends on a language:

* many pages that had texts of their own suddenly have the same text;
* a page suddenly has much less text, or shares hardly a word with what it was;
* a page says of itself that it is a login, a missing page or an error.

One page may be emptied or rewritten for good reasons, so a single suspicious page only
waits until other pages of its site are seen to be well. Many at once are held.

For a page with hardly any text neither size nor words are evidence. Such a change
waits, too, until the end of the sync: only other pages with the same text contradict
it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

# In 60 weeks of 73 real sites, with 31554 changes, pages that differed became the same
# nine times: three times two pages, six times three to five (24 pages, 0.08 %).
MANY = 3
# Of 31554 real changes 0.4 % leave a quarter of the text or less. A maintenance page of
# 200 characters is a quarter of any page of 800.
MUCH_SHORTER = 0.25
# Of real changes 2 % leave a resemblance (Jaccard, of words) of 0.3 or less. An error
# page that keeps the menus of its site resembles a page with a text of its own less.
HARDLY_ALIKE = 0.3
# A page with less text than a note about an outage cannot be distinguished from one by
# its size, and two texts of a few words are hardly ever alike.
LEAST_TEXT = 80  # characters
LEAST_WORDS = 20
# Where less of the words is left, a change waits until the end of a sync, so that
# pages with the same text may still show an outage. Of 17790 changes of half of the
# sites that are not doubted anyway, 1.4 % leave so little.
UNLIKE = 0.4
WITNESSES = 2  # one page that answers may come from a cache; two hardly
LOGIN = "a login"
NEW_TEXT = "hardly any of its text is left"
UNSURE = "by itself it cannot be distinguished from an outage"
CONFIRMED = 1.0  # days; few outages last as long, and no copy should lag for longer


class AnswerVerdict(StrEnum):
    """The verdict on an answer."""

    BELIEVE = "believe"
    PROVISIONAL = "provisional"  # accepted, and the previous copy is kept for a while
    WAIT = "wait"  # other pages will show whether the site is well
    HOLD = "hold"  # needs a decision, unless the page is well again before


@dataclass(frozen=True, slots=True)
class Sketch:
    """The features of a text that the guard uses.

    Attributes:
        shape: The same for texts that differ only in times, numbers and addresses.
        length: Characters of text; None if that is not known.
        sign: What the text says it is, such as ``a login``; empty if nothing.
        words: Its words; empty if they are not known.
        leads: Whether it is a redirect to another page instead of a text.

    """

    shape: str
    length: int | None = None
    sign: str = ""
    words: frozenset[str] = frozenset()
    leads: bool = False

    def resemblance(self, other: "Sketch") -> float:
        """Return the share of all words that both texts have; 1 if there are none.

        >>> a, b = (Sketch("", words=frozenset(w)) for w in ("abc", "bcd"))
        >>> a.resemblance(b)
        0.5
        """
        if not (self.words or other.words):
            return 1.0
        common = len(self.words & other.words)
        return common / (len(self.words) + len(other.words) - common)


@dataclass(frozen=True, slots=True)
class Doubt:
    """The reason why an answer is not accepted at once.

    Attributes:
        verdict: ``WAIT`` or ``HOLD``.
        why: The reason, in words.

    """

    verdict: AnswerVerdict
    why: str


def doubt(before: Sketch, after: Sketch) -> Doubt | None:
    """Return the doubt about one answer by itself; None if there is none.

    >>> page, note = Sketch("a", 4000), Sketch("b", 90, "an error")
    >>> doubt(page, note).why
    'it says that it is an error, and has 90 characters of text where it had 4000'
    >>> doubt(page, Sketch("c", 3900)) is None
    True
    """
    if after.shape == before.shape:
        return None
    if after.sign == LOGIN and before.sign != LOGIN:
        return Doubt(AnswerVerdict.HOLD, "it asks for a login, which it did not before")
    if after.leads and not before.leads:
        return Doubt(AnswerVerdict.WAIT, "it leads to another page now")
    shorter = is_much_shorter(before, after)
    if not (shorter or is_rewritten(before, after)):
        return None
    size = f"has {after.length} characters of text where it had {before.length}"
    if after.sign and after.sign != before.sign:
        return Doubt(AnswerVerdict.HOLD, f"it says that it is {after.sign}, and {size}")
    return Doubt(AnswerVerdict.WAIT, f"it {size}" if shorter else NEW_TEXT)


def is_much_shorter(before: Sketch, after: Sketch) -> bool:
    """Return whether most of a text is gone."""
    if before.length is None or after.length is None or before.length < LEAST_TEXT:
        return False
    return after.length <= MUCH_SHORTER * before.length


def is_rewritten(before: Sketch, after: Sketch) -> bool:
    """Return whether hardly a word is left of a text; False if words are not known."""
    if len(before.words) < LEAST_WORDS or not after.words:
        return False
    return after.resemblance(before) <= HARDLY_ALIKE


def doubt_unsure(before: Sketch, after: Sketch) -> Doubt | None:
    """Return a doubt if the page alone cannot rule out an outage; else None.

    >>> page, note = (Sketch(w, len(w), words=frozenset(w)) for w in ("abc", "de"))
    >>> doubt(page, note) is None, doubt_unsure(page, note).why
    (True, 'by itself it cannot be distinguished from an outage')
    """
    return Doubt(AnswerVerdict.WAIT, UNSURE) if is_unsure(before, after) else None


def is_unsure(before: Sketch, after: Sketch) -> bool:
    """Return whether too little is left of a text to decide by the page alone."""
    if before.length is None or after.shape == before.shape:
        return False  # there is no copy to lose
    if not before.words:
        return before.length < LEAST_TEXT or bool(after.words)
    return after.resemblance(before) <= UNLIKE


def distinct_predecessors(shape: str, changes: Iterable[tuple[str, str]]) -> int:
    """Return the number of different texts that became this one.

    ``changes`` are the shapes before and after of pages whose text before was unique.
    Pages that show a counter or a state, which many share, become equal all the time.

    >>> changes = [("a", "x"), ("b", "x"), ("b", "x"), ("c", "y"), ("x", "x")]
    >>> distinct_predecessors("x", changes)
    2
    """
    return len({before for before, after in changes if after == shape} - {shape, ""})


def is_outage(shape: str, changes: Iterable[tuple[str, str]]) -> bool:
    """Return whether too many different pages became this text."""
    return distinct_predecessors(shape, changes) >= MANY


@dataclass(frozen=True, slots=True)
class WaitingAnswer:
    """An answer that waits.

    Attributes:
        shape: The shape of its text.
        days: Days since it was first put off.
        seen: How often it was the same since then, including the first time.

    """

    shape: str
    days: float
    seen: int


def judge_waiting(
    waiting: Sequence[WaitingAnswer], well: int, others: int
) -> AnswerVerdict:
    """Return the verdict on a site's waiting answers.

    They are accepted when enough other pages were seen to be well since: more than
    wait, and at least two where the site has so many. If ``MANY`` wait and they are not
    outnumbered, they are held. A page that shows the same for ``CONFIRMED`` days is
    accepted, as on a source of one page, which has no witness.

    Args:
        waiting: The waiting answers.
        well: Other pages of the site that were seen to be well since the first.
        others: The number of other pages of the site.

    >>> judge_waiting([WaitingAnswer("a", 0.1, 1)], well=2, others=40)
    <AnswerVerdict.BELIEVE: 'believe'>
    >>> judge_waiting([WaitingAnswer("a", 0.1, 1)] * 3, well=1, others=40)
    <AnswerVerdict.HOLD: 'hold'>

    """
    needed = min(max(WITNESSES, len(waiting)), others)
    if others and well >= needed:
        return AnswerVerdict.BELIEVE
    if len(waiting) >= MANY:
        return AnswerVerdict.HOLD
    if all(answer.days >= CONFIRMED and answer.seen > 1 for answer in waiting):
        return AnswerVerdict.BELIEVE
    return AnswerVerdict.WAIT


@dataclass(frozen=True, slots=True)
class SiteEvidence:
    """The state of a site's other pages, for a text that some pages have.

    Attributes:
        held: Answers with this text that are held.
        replaced: Copies that this text has replaced provisionally.
        well: Other pages that were seen to be well since, or had another text.
        others: The number of other pages of the site.

    """

    held: int = 0
    replaced: int = 0
    well: int = 0
    others: int = 0


def judge_unsure(
    waiting: Sequence[WaitingAnswer], around: SiteEvidence
) -> AnswerVerdict:
    """Return the verdict on pages with the same text that is inconclusive by itself.

    Where others with this text are held, so are these, unless more pages are well.
    ``MANY`` with unique texts are held earlier, so ``MANY`` here are pages that share
    their texts anyway. A single page is accepted; unless others were seen to be well
    since, its previous copy is kept, in case they become the same. Two with the same
    text wait for witnesses.

    >>> one = [WaitingAnswer("a", 0.1, 1)]
    >>> judge_unsure(one, SiteEvidence(well=2, others=40))
    <AnswerVerdict.BELIEVE: 'believe'>
    >>> judge_unsure(one, SiteEvidence(well=0, others=40))
    <AnswerVerdict.PROVISIONAL: 'provisional'>
    >>> judge_unsure(one, SiteEvidence(replaced=1, well=0, others=40))
    <AnswerVerdict.WAIT: 'wait'>
    >>> judge_unsure(one, SiteEvidence(held=3, well=2, others=40))
    <AnswerVerdict.HOLD: 'hold'>

    """
    same = len(waiting) + around.replaced
    if around.held:
        outnumbered = around.well >= max(WITNESSES, same + around.held)
        return AnswerVerdict.BELIEVE if outnumbered else AnswerVerdict.HOLD
    if len(waiting) >= MANY or same + around.others < MANY:
        return AnswerVerdict.BELIEVE
    if around.well >= min(WITNESSES, around.others):
        return AnswerVerdict.BELIEVE
    if all(answer.days >= CONFIRMED and answer.seen > 1 for answer in waiting):
        return AnswerVerdict.BELIEVE
    return AnswerVerdict.PROVISIONAL if same == 1 else AnswerVerdict.WAIT
