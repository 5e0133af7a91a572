"""The policy keeps the laws of all policies."""

from halflife.policies.laws import broken
from halflife_likely_stale import likely_stale


def test_my_policy_keeps_the_laws():
    assert broken(likely_stale) == []
