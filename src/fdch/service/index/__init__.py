"""The index behind a service: searched, described, changed, switched."""
