"""Where changes are delivered: files, programs, web addresses, databases.

``protocol`` defines the interface of a sink; every other module here is a sink, or
shared by sinks. ``halflife.engine.deliveries`` delivers the changes.
"""
