"""A benchmark of repairs: the bugs whose fix is proved are tasks, and a patch of a wheel's text is scored."""
