"""Rules on which policies fit a form, and one another."""

from collections.abc import Mapping, Sequence

from halflife.config.registrations import only_entry_point, registered

REMEDIES = {
    "newest": "reads everything, newest first; set newest and everything = true",
    "choices": "asks for the values of choices; add an attribute that is no keyword",
    "lookup": "looks records up by their keys; set lookup_url",
}


def check_jobs(
    group: str, names: Sequence[str], purpose: str, can: Mapping[str, bool]
) -> None:
    """Raise ``ValueError`` unless a form can use these policies.

    Args:
        group: The entry point group of the policies.
        names: Their names, which are known to exist.
        purpose: What the copy is kept for.
        can: The capabilities of the form, by the names that policies use.

    """
    chosen: dict[str, str] = {}
    installed = registered(group) if names else {}
    for name in names:
        try:
            policy = only_entry_point(installed[name]).load()
            job, needs = policy.job, policy.needs
        except (ImportError, AttributeError) as error:
            raise ValueError(f"the policy {name!r} cannot be used: {error}") from None
        if job in chosen:
            raise ValueError(
                f"{chosen[job]} and {name} are both for {job} records; name one for "
                "new records and one for known ones"
            )
        if purpose not in (job, "both"):
            raise ValueError(
                f'{name} is for {job} records; set purpose = "{job}" or "both", or '
                f"name a policy for {purpose} records"
            )
        chosen[job] = name
        for need in sorted(needs):
            if not can.get(need, True):
                raise ValueError(f"{name} {REMEDIES[need]}")
