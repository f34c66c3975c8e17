"""Random spanning trees, by the algorithms of Wilson and of Aldous and Broder."""
