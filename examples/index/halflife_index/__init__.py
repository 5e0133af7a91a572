"""Search indexes that stay in step with what halflife keeps."""
