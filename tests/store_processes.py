"""Other processes, started from a test and ended by it."""

import multiprocessing


def start(task, *arguments):
    """Run a task of ``store_worker`` in a process; return it and a pipe to it."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["halflife.stores.sqlite"])
    ours, theirs = context.Pipe()
    child = context.Process(target=task, args=(*arguments, theirs), daemon=True)
    child.start()
    theirs.close()
    return child, ours


def rest(pipe):
    """Return what a process still says until it ends."""
    said = []
    while True:
        try:
            said.append(pipe.recv())
        except (EOFError, ConnectionResetError):
            pipe.close()
            return said
