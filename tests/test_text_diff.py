"""What differs between two texts, and how long it takes to find out."""

import random
import shutil
import subprocess
import time

import pytest
from hypothesis import given, strategies as st

from halflife.core.text_diff import by_words, differences, unified
from missing_programs import reason

lines = st.lists(st.sampled_from("abcdefg"), max_size=20)


def applied(old, new, blocks):
    """Return the old text with its blocks replaced."""
    made, last = [], 0
    for block in blocks:
        assert last <= block.a <= block.b
        made += old[last : block.a] + new[block.c : block.d]
        last = block.b
    return made + old[last:]


@given(old=lines, new=lines)
def test_the_differences_lead_from_the_old_text_to_the_new_one(old, new):
    blocks = differences(old, new)
    assert applied(old, new, blocks) == new
    assert bool(blocks) == (old != new)


@given(old=lines, new=lines)
def test_the_way_back_is_as_good(old, new):
    assert applied(new, old, differences(new, old)) == old


@pytest.mark.skipif(shutil.which("patch") is None, reason=reason("patch"))
@pytest.mark.parametrize("seed", range(12))
def test_a_unified_diff_can_be_applied_by_the_program_patch(seed, tmp_path):
    rng = random.Random(seed)
    old = [f"line {rng.randrange(30)}" for _ in range(60)]
    new = [line for line in old if rng.random() > 0.1]
    for _ in range(5):
        new.insert(rng.randrange(len(new) + 1), f"line {rng.randrange(60)}")
    text, patch = tmp_path / "text", tmp_path / "patch"
    text.write_text("".join(f"{line}\n" for line in old))
    told = "".join(f"{line}\n" for line in unified(old, new))
    patch.write_text(f"--- text\n+++ text\n{told}")
    subprocess.run(
        ["patch", "-s", str(text), str(patch)], check=True, capture_output=True
    )
    assert text.read_text().splitlines() == new


@given(old=lines, new=lines)
def test_words_that_are_marked_can_be_taken_out_again(old, new):
    found = "".join(
        line
        for line in by_words([" ".join(old)], [" ".join(new)])
        if not line.startswith("@@")
    )
    if old == new:
        assert found == ""
        return
    for ends, keep in ((("[-", "-]"), "{+"), (("{+", "+}"), "[-")):
        text = found
        while ends[0] in text:
            before, _, rest = text.partition(ends[0])
            text = before + rest.partition(ends[1])[2]
        text = text.replace(keep, "").replace("-]" if keep == "[-" else "+}", "")
        assert text == " ".join(new if keep == "{+" else old)


def test_eight_megabytes_of_lines_that_differ_everywhere_take_seconds():
    rng = random.Random(1)
    old = [f"{rng.randrange(50)} repeated line of a page" for _ in range(250_000)]
    new = [f"{rng.randrange(50)} repeated line of a page" for _ in range(250_000)]
    assert sum(map(len, old)) > 6_000_000
    began = time.process_time()
    blocks = differences(old, new)
    assert time.process_time() - began < 20
    assert applied(old, new, blocks) == new


def test_lines_that_are_made_to_be_slow_take_a_moment():
    old, new = ["a", "b"] * 350, ["b", "a", "a"] * 235
    began = time.process_time()
    blocks = differences(old, new)
    assert time.process_time() - began < 10
    assert applied(old, new, blocks) == new
