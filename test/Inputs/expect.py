"""What the tests of the Python package share."""


def run_tests(namespace):
    """Calls the functions test_... that a script defines, by their names."""
    for name, test in sorted(namespace.items()):
        if name.startswith("test_") and test.__module__ == "__main__":
            test()


def expect(error, message, function, **attributes):
    """Calls `function`, which must raise `error` with this text and attributes."""
    try:
        function()
    except error as raised:
        assert message in str(raised), raised
        for name, value in attributes.items():
            assert getattr(raised, name) == value, (name, vars(raised))
    else:
        raise AssertionError("no " + error.__name__)
