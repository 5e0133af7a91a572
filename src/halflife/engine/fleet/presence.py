"""Refuse to fetch beside workers that share the store."""

from halflife.core.errors import AlreadyRunning
from halflife.engine import control
from halflife.stores import Store


def refuse_beside_workers(store: Store, *, even_paused: bool = False) -> None:
    """Raise ``AlreadyRunning`` while workers use a store.

    They share hosts by leases, which another process does not respect. Paused workers
    send nothing, so a sync by hand does no harm.
    """
    fleet = store.fleet()
    if not fleet.is_planned or (control.read(store).is_paused and not even_paused):
        return
    alive = (w.name.partition(" (")[0] for w in fleet.workers if w.is_alive)
    names = ", ".join(sorted(set(alive)))
    remedy = "`halflife drain` ends them"
    if not even_paused:
        remedy = f"`halflife pause` makes room to sync by hand, {remedy}"
    raise AlreadyRunning(
        f"workers share this store ({names}) and fetch what is worth a request by"
        f" themselves; {remedy}"
    )
