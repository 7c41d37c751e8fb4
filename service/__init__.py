"""The Calcert service: engine, verification, cache, HTTP application and command line."""
