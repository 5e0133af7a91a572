"""Groups of objects with similar lifetimes."""
