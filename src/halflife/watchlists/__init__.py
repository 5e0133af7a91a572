"""Watch lists of other programs, read for import and written for export."""
