"""Several workers on one store: one decides, all fetch.

Each worker is a process that leases hosts and fetches their pages (``worker``). One of
them also runs the service, which decides what is fetched (``planner``) and hands pages
out instead of fetching them itself.
"""
