"""Results as pages: one self-contained HTML file each, readable offline, on paper and in the dark."""
