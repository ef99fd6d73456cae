"""What the tests of the Python package share."""


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
