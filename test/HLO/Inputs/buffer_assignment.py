"""What a dump of XLA's compilers says of live bytes.

`live_peaks(buffer_assignment, live_ranges, measure)` takes the texts of
`*-buffer-assignment.txt` and `*-live-range.txt`, and gives the most bytes that
are live at one step, space by space. What shares a place is counted once; the
tables of tuples and what is inside fusions and reducers is not counted; and
`measure` says how many bytes a shape takes, which the compiler has rounded up.
"""

import collections
import re

ALLOCATION = re.compile(r"^allocation (\d+): ")
VALUE = re.compile(
    r"^ value: <\d+ ([^{ ]+)(\{[\d,]*\})?(?: \(phi\))? @(\d+)> "
    r"\(size=(\d+),offset=(\d+)\): (.*)$"
)
RANGE = re.compile(r"^    (\S+?)(\{[\d,]*\}):(\d+)-(\d+)$", re.M)

Place = collections.namedtuple("Place", "allocation begin end steps")


def read_places(buffer_assignment, live_ranges, measure):
    """Of each space the places of its arrays."""
    _, _, ranges = live_ranges.partition("BufferLiveRange:")
    ranges, _, _ = ranges.partition("Live ranges at")
    steps = {(m[1], m[2]): (int(m[3]), int(m[4])) for m in RANGE.finditer(ranges)}
    places = collections.defaultdict(list)
    allocation = None
    for line in buffer_assignment.splitlines():
        if match := ALLOCATION.match(line):
            allocation = match[1]
        match = VALUE.match(line)
        if not match:
            continue
        name, index, space, size, offset, shape = match.groups()
        live = steps.get((name, index or "{}"))
        if live and not shape.startswith("("):
            offset = int(offset)
            end = offset + min(int(size), measure(shape))
            places[int(space)].append(Place(allocation, offset, end, live))
    return places


def count_bytes(places):
    """Bytes that one of the places has or several."""
    total = 0
    last = None, 0
    for allocation, begin, end, _ in sorted(places):
        covered = last[1] if last[0] == allocation else 0
        total += max(0, end - max(begin, covered))
        last = allocation, max(end, covered)
    return total


def live_peaks(buffer_assignment, live_ranges, measure):
    peaks = {}
    for space, places in read_places(buffer_assignment, live_ranges, measure).items():
        # The most is live where something begins.
        starts = {place.steps[0] for place in places}
        peaks[space] = max(
            count_bytes(p for p in places if p.steps[0] <= step <= p.steps[1])
            for step in starts
        )
    return peaks
