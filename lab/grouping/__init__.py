"""Pages that belong together by topic, text or behaviour; what papers group by."""
