"""The same tables in a schema of a PostgreSQL database, for several machines.

``core.store_address`` reads where that is, ``dialect`` translates statements,
``schema`` makes the tables, ``connection`` has the transactions.
"""
