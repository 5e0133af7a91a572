"""Where changes go: files, programs, web addresses, databases.

``protocol`` says what a sink is; every other module here is a sink, or what sinks
share. ``halflife.engine.deliveries`` hands them what changed.
"""
