"""Packages that only some sinks need."""

from importlib import import_module
from types import ModuleType

from halflife.config.sinks import SinkConfig, extra_of
from halflife.sinks.protocol import DeliveryError


def import_extra(settings: SinkConfig) -> ModuleType:
    """Return the module that a sink requires; raise ``DeliveryError`` with a remedy."""
    module, _ = settings.requires
    try:
        return import_module(module)
    except ImportError:
        raise DeliveryError(
            f"a sink of kind {settings.kind!r} needs {module}; install it with: "
            f'pip install "{extra_of(settings)}"'
        ) from None
