"""Made-up worlds to test crawlers against, calibrated to real histories."""
