"""Made-up worlds, calibrated to real histories, to try crawlers against."""
