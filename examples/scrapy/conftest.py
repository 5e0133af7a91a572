"""The project is run by the tests of the add-on; it holds no tests itself."""

collect_ignore = ["quotes"]
