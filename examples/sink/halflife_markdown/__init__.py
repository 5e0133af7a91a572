"""A folder of Markdown files that stays in step with what halflife keeps."""
