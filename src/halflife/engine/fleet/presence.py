"""Whether workers share a store: then nobody else fetches beside them."""

from halflife.core.errors import AlreadyRunning
from halflife.engine import control
from halflife.stores import Store


def refuse_beside_workers(store: Store, *, even_paused: bool = False) -> None:
    """Raise ``AlreadyRunning`` while workers are at work on a store.

    They share hosts by leases of which another process knows nothing. Those that are
    paused send nothing, so that a sync by hand does no harm.
    """
    fleet = store.fleet()
    if not fleet.is_planned or (control.read(store).is_paused and not even_paused):
        return
    alive = (one.name.partition(" (")[0] for one in fleet.workers if one.is_alive)
    names = ", ".join(sorted(set(alive)))
    remedy = "`halflife drain` ends them"
    if not even_paused:
        remedy = f"`halflife pause` makes room to sync by hand, {remedy}"
    raise AlreadyRunning(
        f"workers share this store ({names}) and fetch what is worth a request by"
        f" themselves; {remedy}"
    )
