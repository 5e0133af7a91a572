"""Several workers on one store: one decides, all fetch.

Each worker is a process that leases hosts and fetches pages of them (``worker``). One
of them also runs the service, which decides what is worth a request (``planner``);
where it would fetch pages itself it hands them out (``remote_pages``).
"""
