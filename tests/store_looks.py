"""Observations, made by hand."""

from halflife.core.observation import Observation, Seen

HEX = "00112233445566778899aabbccddeeff"


def present(key, at, digest="1", **more):
    return Observation(key, at, Seen.PRESENT, digest, **more)


def absent(key, at):
    return Observation(key, at, Seen.ABSENT)


def failed(key, at, note="timed out"):
    return Observation(key, at, Seen.FAILED, note=note)


def hint(key, at, **more):
    return Observation(key, at, Seen.HINT, **more)
