"""Words for the first queries of sampling, and topics for probing."""

import tomllib
from collections import Counter
from pathlib import Path

from halflife.core.errors import ConfigError, UsageError
from halflife.core.observation import Seen
from halflife.kinds.search.client import words_of
from halflife.probing.hierarchy import Hierarchy
from halflife.probing.rules import TopicProbes
from halflife.readers.text import is_html, to_text, visible
from halflife.stores import Store

COPIES = 200  # copies of pages whose words are used
TAKEN = 2000  # words of them, the most common first

# Very common words of English.
_COMMON = """
about above across act add after again age ago air all also always among and animal
answer any appear area arm art ask away back bad ball bank base bed before began begin
behind best better between big bird black blood blue board boat body book both box boy
bring brother brown build business buy call came can car care carry case cause center
certain chance change check child church city class clean clear close cloth cold color
come common company complete contain control cook cool copy corner cost could country
course cover cross cry current cut dark data date daughter day dead deal death decide
deep design develop did differ direct do doctor does dog done door down draw dream
dress drive drop dry during each early earth ease east eat edge effect egg eight end
energy engine enough even evening event ever every example experience eye face fact
fall family far farm fast father fear feel feet few field fight figure fill final find
fine finger fire first fish five floor fly follow food foot for force form found four
free friend from front full game garden gave general get girl give glass go gold good
government great green ground group grow guide had hair half hand happen hard has have
he head health hear heart heat heavy help here high history hold home horse hot hour
house how human hundred idea important in increase industry information interest iron
island it job join just keep key kind king knew know land language large last late law
lead learn leave left less let letter level life light like line list listen little
live local long look lost love low machine made main make man many map mark market
material matter may mean measure meat member method middle might mile milk million
mind minute model money month moon more morning most mother mountain move much music
must name nation nature near need never new next night nine north note nothing number
ocean of off office often oil old on one only open order other our out over own page
paper part party pass past pattern pay people perhaps person picture piece place plan
plant play point policy poor position possible power practice present press price
problem process produce program public pull question quick rain read ready real reason
record red report research rest result rich right river road rock room round rule run
same school science sea season second see seem self sell send sense serve service set
seven shape ship short should show side simple since sing sit six size sleep small
snow social society some son song soon sound south space special spring stand star
start state stay step still stone stop story street strong student study such summer
sun support sure surface system table take talk teach team tell ten test than that the
their them then there they thing think this those though thought thousand three
through time together too top town trade train travel tree true try turn two type
under unit until up use value very voice wait walk wall want war warm was watch water
way we week weight well went were west what wheel when where which while white who
whole why wide will wind window winter wish with woman wonder wood word work world
would write year yellow yes you young
"""
COMMON = tuple(_COMMON.split())

# Topics and their typical words, for unknown databases.
TOPICS: dict[str, tuple[str, ...]] = {
    "Arts": (
        "music",
        "film",
        "painting",
        "novel",
        "theatre",
        "museum",
        "album",
        "poem",
    ),
    "Business": ("market", "investors", "profit", "shares", "tax", "sales", "bank"),
    "Computers": ("software", "server", "code", "windows", "linux", "internet", "bug"),
    "Health": ("patients", "disease", "cancer", "diabetes", "drug", "diet", "symptoms"),
    "Law": ("court", "judge", "statute", "plaintiff", "contract", "rights", "appeal"),
    "Science": (
        "species",
        "physics",
        "cells",
        "theory",
        "experiment",
        "galaxy",
        "atoms",
    ),
    "Sports": ("football", "league", "coach", "players", "olympic", "tennis", "season"),
}


def dictionary(store: Store, file: Path | None = None) -> tuple[str, ...]:
    """Return the words of a file, or else those of our copies and common ones."""
    if file is not None:
        return _from_file(file)
    return tuple(dict.fromkeys((*_of_copies(store), *COMMON)))


def _from_file(file: Path) -> tuple[str, ...]:
    try:
        words = words_of(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--dictionary {file}: cannot be read: {error}") from None
    if not words:
        raise UsageError(f"--dictionary {file}: it has no words")
    return words


def _of_copies(store: Store) -> list[str]:
    """Return the most common words of our copies of pages."""
    evidence, counts = store.evidence(), Counter[str]()
    held = (evidence.seen == Seen.PRESENT).nonzero()[0][:COPIES].tolist()
    for row in held:
        copy = store.content(evidence.keys[row])
        if copy is not None and is_html(copy.media_type, copy.body):
            counts.update(words_of(visible(to_text(copy.media_type, copy.body))))
    return [word for word, _ in counts.most_common(TAKEN)]


def probes(file: Path | None = None) -> TopicProbes:
    """Return the topics of a TOML file, or a few common ones.

    The file has a table ``topics``, in which each topic has a list of its subtopics or
    a table of such, and a table ``queries`` with a list of queries for each topic.
    """
    if file is None:
        return TopicProbes.of(Hierarchy.of(TOPICS.keys()), TOPICS)
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        return TopicProbes.of(Hierarchy.of(table["topics"]), table["queries"])
    except RecursionError:
        raise UsageError(f"--probes {file}: it is nested too deeply") from None
    except (OSError, ValueError) as error:  # bad text, bad TOML, a number without end
        raise UsageError(f"--probes {file}: cannot be read: {error}") from None
    except (KeyError, TypeError, AttributeError, ConfigError) as error:
        raise UsageError(f"--probes {file}: not topics with queries: {error}") from None
