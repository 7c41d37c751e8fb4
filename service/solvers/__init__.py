"""One module a task: from a request to an answer that was verified, or to none."""
