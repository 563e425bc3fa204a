"""Many tasks over sizes and loads: sweep → tasks → store → points with errors → limits."""
