"""One module a log format. Each reader satisfies `gaploop.core.protocols.Reader`."""
