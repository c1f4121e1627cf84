"""The road and its drivers in numbers: feet, seconds, feet a second; a place counts in the way of travel."""

from aurora.linear_road.edition import EDITION_2004

__all__ = [
    "ACCIDENT_SIGHT",
    "ACCIDENT_SPEED",
    "BRAKE",
    "CRAWL",
    "DAWDLE",
    "EXIT_FIRST",
    "EXIT_LAST",
    "EXIT_NOTICE",
    "FORCED_BRAKE",
    "FREE_BRAKE",
    "GIVE_UP",
    "LANE_WISH",
    "LEAST_ENTRY_SPEED",
    "MOST_ENTRY_SPEED",
    "MPH",
    "PATIENCE",
    "PICK_UP",
    "RAMP_END",
    "RAMP_MERGE",
    "RAMP_SPEED",
    "RAMP_START",
    "REACTION",
    "REPORT_INTERVAL",
    "ROAD",
    "SEGMENT",
    "SEGMENTS",
    "SLOW_START",
    "SPACE",
    "SQUEEZE",
]

SEGMENTS = EDITION_2004.segments
SEGMENT = float(EDITION_2004.segment_length)
ROAD = SEGMENTS * SEGMENT
REPORT_INTERVAL = EDITION_2004.report_interval
MPH = 5280.0 / 3600.0

# Ramps share the fourth lane, beside lane 1: the entrance (lane 0) at the start of a segment, the exit
# (lane 4) at its end. Offsets within the segment.
RAMP_START = 250.0
RAMP_MERGE = 700.0
RAMP_END = 1900.0
LEAST_ENTRY_SPEED = 14.5 * MPH
MOST_ENTRY_SPEED = 33.5 * MPH
RAMP_SPEED = 48.0 * MPH
EXIT_FIRST = 3200.0
EXIT_LAST = 4600.0

# Drivers: the room a standing car takes, the seconds kept to the car ahead, what they brake and pick up.
SPACE = 23.0
REACTION = 0.8
BRAKE = 10.0
PICK_UP = 4.0
# A second's random loss of speed, and how often a standing driver is late to start: the seeds of jams.
DAWDLE = 1.5
SLOW_START = 0.3
# The braking that a change of lane may ask for: one that is wanted, and one that is needed (an exit, a ramp's
# end, a blocked lane). Who needs it also squeezes into this much less room than a standing car takes.
FREE_BRAKE = 6.0
FORCED_BRAKE = 12.0
SQUEEZE = 8.0
# Seconds between two free changes of lane, and feet a lane before the exit at which a driver moves over.
PATIENCE = 2
EXIT_NOTICE = 2640.0
# What one lane nearer to the driver's own is worth, in speed.
LANE_WISH = 5.0

# Who crawls may give up and leave by the next exit: the chance in a second. Without it few would get on the
# road any more after an hour, since the demand in the middle of the city is twice what three lanes carry.
CRAWL = 12.0 * MPH
GIVE_UP = 0.00042

# Drivers see an accident from this far, and pass it at this speed.
ACCIDENT_SIGHT = 1500.0
ACCIDENT_SPEED = 30.0 * MPH
