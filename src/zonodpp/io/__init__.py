"""Files: tables that are read, results that are written."""
