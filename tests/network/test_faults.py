"""What a wrong network is told: one line that names the box, the stream it takes, and the field."""

import pytest

from aurora import AuroraError, Network, Schema, WindowFunction, from_text, read_network, to_text

HEAD = """network: n
inputs:
  reports: {schema: "Sid int, Time int, Pos int"}
  words: {schema: "Word string, At timestamp, Day date, Frac double"}
  people: {schema: "Sid int, Name string", static: true}
boxes:
  """
TAIL = """
outputs:
  out: {from: b}
"""
COUNT = 'aggregate: {n: "count(*)"}, from: reports'
TOP = "from: reports, order: {on: Time}, size: 5"
SIDES = "left: reports, right: reports"
ORDERS = "left_order: {on: Time}, right_order: {on: Time}"
CLOCKS = "left_order: {on: Time, clock: stream}, right_order: {on: Time, clock: stream}"
BETWEEN = (
    f'b: {{resample: {{n: "count(*)"}}, {SIDES}, {CLOCKS}, match: "left.Sid = right.Sid", between: BOUNDS}}'
)
USER = 'user: "math:sqrt", inputs: {a: reports}'

# A box, and what its fault must say.
BOXES: dict[str, tuple[str, ...]] = {
    # Fields, types, functions.
    'b: {filter: ["Poss >= 30"], from: reports}': ("box b (from reports)", "'Poss'", "Sid, Time, Pos"),
    'b: {map: {A: "Sid + X"}, from: reports}': ("box b (from reports)", "'X'", "Sid, Time, Pos"),
    'b: {filter: ["Pos + 1"], from: reports}': ("box b (from reports)", "'Pos + 1' is int", "boolean"),
    'b: {map: {A: "Word + 1"}, from: words}': ("box b (from words)", "string and int", "Word + 1"),
    'b: {map: {A: "sqroot(Pos)"}, from: reports}': ("box b (from reports)", "'sqroot'", "sqrt?"),
    'b: {map: {A: "Pos +* 3"}, from: reports}': ("box b (from reports)", "syntax error", "column 8"),
    'b: {map: {"#x": "Pos"}, from: reports}': ("box b (from reports): map: field '#x'", "rename it"),
    "b: {union: [reports, words]}": ("box b (1 reports, 2 words): input 2 has (Word string", "Sid int"),
    # Ports, loops, names.
    'b: {filter: ["Pos > 1"], from: report}': ("called report (did you mean reports?)", "reports, words"),
    'a: {filter: ["Pos > 1"], from: reports}\n  b: {map: {A: "Pos"}, from: a.2}': (
        "box b, from: box a has no port 2; ports are 1, rest",
    ),
    'a: {filter: ["Pos > 1"], from: b}\n  b: {filter: ["Pos > 1"], from: a}': ("loop: a -> b -> a",),
    'b: {filter: ["Pos > 1"], from: b}': ("box b: the boxes form a loop: b -> b",),
    'g: {group: {reports: {filter: ["Pos > 1"], from: reports}}}': (
        "loop: g.reports -> g.reports; for the reports outside of the group write .reports",
    ),
    '.b: {filter: ["Pos > 1"], from: reports}': ("box .b: a name must not begin or end with a dot",),
    'b: {filter: ["Pos > 1"], from: reports}\n  b: {union: [reports]}': ("network, line 8", "'b' appears twice"),
    'reports: {filter: ["Pos > 1"], from: reports}': ("box reports: the name is used twice",),
    '"b c": {filter: ["Pos > 1"], from: reports}': ("box b c: a name must not contain spaces",),
    '"/tmp/b": {filter: ["Pos > 1"], from: reports}': ("box /tmp/b: a name must not contain '/'; write '-'",),
    'b: {filter: ["Pos > 1"], from: [reports]}': ("box b, from: no input or box is called ['reports']",),
    # The form of a box.
    'b: {filter: ["Pos > 1"], from: reports, size: 3}': ("box b: a filter has no 'size'; it has from",),
    'b: {filter: ["Pos > 1"]}': ("box b: a filter needs 'from'",),
    'b: {filter: ["Pos > 1"], form: reports}': ("box b: a filter has no 'form' (did you mean from?); it has from",),
    'b: {filter: ["Pos > 1"], colour: red}': ("box b: a filter needs 'from'",),
    'b: {Filter: ["Pos > 1"], from: reports}': ("found Filter (did you mean filter?), from",),
    'b: {aggregate: {n: "count(*)"}, from: reports, size: 3}': ("box b: an aggregate needs 'order'",),
    'b: {fliter: ["Pos > 1"], from: reports}': ("box b: needs one operator", "fliter (did you mean filter?), from"),
    'b: {filter: ["Pos > 1"], map: {A: "Pos"}, from: reports}': ("box b: needs one operator", "filter, map, from"),
    "b: filter": ("box b: a box is a mapping", "found 'filter'"),
    "b:": ("box b: a box is a mapping",),
    "b: {}": ("box b: needs one operator", "found nothing"),
    'b: {filter: "Pos > 1", from: reports}': ("box b (from reports): filter: expects a list, found 'Pos > 1'",),
    "b: {filter: [], from: reports}": ("box b (from reports): filter: expects a list",),
    'b: {map: ["Pos"], from: reports}': ("box b (from reports): map: expects a mapping",),
    "b: {map: {}, from: reports}": ("box b (from reports): needs at least one field",),
    "b: {union: reports}": ("box b: union: expects a list, found 'reports'",),
    "b: {bsort: {x: 1}, from: reports, order: {on: Time}}": ("box b (from reports): bsort is {}",),
    "b: {group: [1]}": ("group b is a mapping of names to boxes",),
    "b: {group: {}}": ("group b is a mapping of names to boxes",),
    'g: {group: {b: {filter: ["Poss > 1"], from: reports}}}': ("box g.b (from reports)", "'Poss'"),
    # Orders and slack.
    "b: {bsort: {}, from: reports, order: {on: Tim}}": ("box b (from reports): order", "Tim", "Sid, Time, Pos"),
    "b: {bsort: {}, from: reports, order: {on: Time, group_by: [Who]}}": ("box b (from reports)", "no field Who"),
    "b: {bsort: {}, from: reports, order: {on: Time, group_by: [Sid, Sid]}}": ("twice: Sid, Sid",),
    "b: {bsort: {}, from: reports, order: {on: Time, group_by: [Time]}}": ("Time cannot be both",),
    "b: {bsort: {}, from: words, order: {on: Word}}": ("box b (from words)", "Word", "neither a number nor a time"),
    "b: {bsort: {}, from: reports, order: {slack: 2}}": ("order: write {on: Field",),
    "b: {bsort: {}, from: reports, order: {on: Time, slak: 2}}": ("order: write {on: Field", "slak"),
    "b: {bsort: {}, from: reports, order: Time}": ("order: expects a mapping, found 'Time'",),
    'b: {bsort: {}, from: reports, order: {on: "#"}}': ("box b (from reports)", "name a field to sort on"),
    "b: {bsort: {}, from: reports, order: {on: Time, slack: -1}}": ("slack '-1' is not a number of tuples",),
    "b: {bsort: {}, from: reports, order: {on: Time, slack: 10s}}": ("slack '10s' on a field of type int",),
    "b: {bsort: {}, from: words, order: {on: At, slack: soon}}": ("'soon' on a timestamp",),
    "b: {bsort: {}, from: words, order: {on: At, slack: {value: 3}}}": ("'3' on a timestamp",),
    "b: {bsort: {}, from: reports, order: {on: Time, slack: {values: 3}}}": ("slack is a number of tuples",),
    "b: {bsort: {}, from: reports, order: {on: Time, slack: {value: -3}}}": ("{value: -3}", "0 or more"),
    "b: {bsort: {}, from: reports, order: {on: Time, slack: {value: 0.5}}}": ("{value: 0.5}", "a whole number"),
    f'b: {{{COUNT}, order: {{on: "#", slack: {{value: 3}}}}, size: 3}}': ("slack as a span needs an order field",),
    # Running windows.
    f"b: {{{COUNT}, order: {{on: Time}}, size: all, advance: 1}}": ("size: all", "leave 'advance' out"),
    f'b: {{{COUNT}, order: {{on: "#"}}, size: all, partial: true}}': ("size: all", "leave 'partial' out"),
    f"b: {{{COUNT}, order: {{on: Time}}, size: all, timeout: 5s}}": ("comes at once: leave 'timeout' out",),
    f'b: {{{COUNT}, order: {{on: "#"}}, size: 3, partial: true, align: true}}': ("leave 'align' out",),
    f"b: {{{COUNT}, order: {{on: Time}}, size: 3, partial: true}}": (
        "box b (from reports): partial: true needs order on '#' and advance 1, found order on Time",
    ),
    f'b: {{{COUNT}, order: {{on: "#"}}, size: 3, advance: 3, partial: true}}': ("found order on #, advance 3",),
    f'b: {{{COUNT}, order: {{on: "#"}}, size: 3, advance: true, partial: true}}': ("advance True",),
    f'b: {{{COUNT}, order: {{on: "#"}}, size: 3, partial: "yes"}}': ("partial is true or false, found 'yes'",),
    f'b: {{{COUNT}, order: {{on: "#"}}, size: 1.5, partial: true}}': ("# counts in whole numbers",),
    f'b: {{{COUNT}, order: {{on: "#"}}, size: 0, partial: true}}': ("size must be above 0, found 0",),
    f'b: {{{COUNT}, order: {{on: "#"}}, size: 100001, partial: true}}': ("100,000 windows; write a smaller one",),
    'b: {aggregate: {n: "3"}, from: reports, order: {on: "#"}, size: all}': ("neither a field nor an aggregate",),
    'b: {aggregate: {n: "approx_count_distinct(Pos)"}, from: reports, order: {on: "#"}, size: all}': (
        "write count(DISTINCT ..)",
    ),
    'b: {aggregate: {n: "Posn"}, from: reports, order: {on: "#"}, size: all}': ("'Posn'", "Sid, Time, Pos"),
    'b: {aggregate: {Time: "Time"}, from: reports, order: {on: Time}, size: all}': ("function Time", "rename it"),
    'b: {aggregate: {Sid: "Sid"}, from: reports, order: {on: "#", group_by: [Sid]}, size: all}': ("function Sid",),
    # Clocks.
    f"b: {{{COUNT}, order: {{on: Time, clock: report}}, size: 5}}": (
        "box b, clock: no input or box is called report (did you mean reports?); the inputs and boxes are reports",
    ),
    f"b: {{{COUNT}, order: {{on: Time, clock: strem}}, size: 5}}": (
        "box b, clock: no input or box is called strem (did you mean stream?); the inputs and boxes are reports",
    ),
    f"b: {{{COUNT}, order: {{on: Time, clock: groups}}, size: 5}}": ("groups (did you mean group?)",),
    f"b: {{{COUNT}, order: {{on: Time, clock: words}}, size: 5}}": (
        "box b: clock words has no field Time; its fields are Word, At, Day, Frac",
    ),
    f"b: {{{COUNT}, order: {{on: Time, clock: people}}, size: 5}}": ("box b: clock people is a table; name a stream",),
    f"b: {{{COUNT}, order: {{on: Time, clock: b}}, size: 5}}": ("box b: the boxes form a loop: b -> b",),
    f"b: {{{COUNT}, order: {{on: Time, clock: [reports]}}, size: 5}}": (
        "box b: clock is group, stream or the name of a stream, found '['reports']'",
    ),
    f'b: {{{COUNT}, order: {{on: "#", clock: stream}}, size: 5}}': (
        "box b (from reports): order: clock: stream needs an order field, not '#'; leave the clock out",
    ),
    f"b: {{{COUNT}, order: {{on: Time, clock: stream, slack: 10s}}, size: 5}}": ("slack '10s' on a field of type int",),
    f"b: {{{COUNT}, order: {{on: Time, clock: stream, slack: -1}}, size: 5}}": ("write a whole number of 0 or more",),
    'b: {aggregate: {n: "count(*)"}, from: words, order: {on: At, clock: stream, slack: 3}, size: 5s}': (
        "box b (from words): order: '3' on a timestamp; write a span of time such as 60s",
    ),
    # Sessions.
    f"b: {{{COUNT}, order: {{on: Time}}}}": ("box b (from reports): an aggregate needs 'size', or for sessions 'gap'",),
    f"b: {{{COUNT}, order: {{on: Time}}, gapp: 5}}": ("box b: an aggregate has no 'gapp' (did you mean gap?)",),
    f"b: {{{COUNT}, order: {{on: Time}}, gap: 5, size: 3}}": (
        "box b (from reports): a session ends with its gap; leave out 'size', or the gap",
    ),
    f"b: {{{COUNT}, order: {{on: Time}}, gap: 5, align: true}}": ("leave out 'align', or the gap",),
    f"b: {{{COUNT}, order: {{on: Time}}, gap: 5s}}": ("gap: '5s' on a field of type int; write a number",),
    f"b: {{{COUNT}, order: {{on: Time}}, gap: 0}}": ("box b (from reports): gap must be above 0, found 0",),
    f"b: {{{COUNT}, order: {{on: Time}}, gap: 1.5}}": ("Time counts in whole numbers, found gap 1.5",),
    f'b: {{{COUNT}, order: {{on: "#"}}, gap: 5}}': ("a gap needs an order field, not '#'",),
    'b: {aggregate: {n: "count(*)"}, from: words, order: {on: At}, gap: 10}': ("write a span of time such as 60s",),
    'b: {aggregate: {Time: "count(*)"}, from: reports, order: {on: Time}, gap: 10}': ("function Time", "rename it"),
    # Bounds from the data.
    BETWEEN.replace("BOUNDS", '["left.Time"]'): (
        "box b (left reports, right reports): between has two bounds", 'write ["left.Begin", "left.End"]',
    ),
    BETWEEN.replace("BOUNDS", "left.Time"): ("between has two bounds", "found left.Time"),
    BETWEEN.replace("BOUNDS", '["left.Time", "left.Nope"]'): ("between: unknown field 'Nope'", "Sid, Time, Pos"),
    BETWEEN.replace("BOUNDS", '["left.Time", "left.Pos > 3"]'): ("is boolean", "order is int; cast it"),
    BETWEEN.replace("BOUNDS", '["left.Time", "left.Pos"], size: 3'): ("a resample has 'size' or 'between', not both",),
    BETWEEN.replace("BOUNDS", '["left.Time", "left.Pos"]').replace("{n:", "{Pos:"): ("name of a left field; rename",),
    BETWEEN.replace("BOUNDS", '["left.Time", "left.Pos"]').replace('"left.Sid = right.Sid"', "left.Sid"): (
        "'left.Sid' is int, a predicate must be boolean",
    ),
    f'b: {{resample: {{n: "count(*)"}}, {SIDES}, {CLOCKS}, between: ["left.Time", "left.Pos"]}}': (
        'between needs match: "left.Field = right.Field"',
    ),
    f'b: {{resample: {{n: "count(*)"}}, {SIDES}, {CLOCKS}, match: "true"}}': ("'match' together with 'between'",),
    BETWEEN.replace("BOUNDS", '["left.Time", "left.Pos"]').replace(CLOCKS, ORDERS): (
        "between needs a clock; write clock: stream or clock: NAME in left_order",
    ),
    BETWEEN.replace("BOUNDS", '["left.Time", "left.Pos"], outer: right'): ("outer can only be left", "'right'"),
    f'b: {{resample: {{n: "count(*)"}}, {SIDES}, {ORDERS}, size: 3, outer: left}}': ("outer goes with between",),
    # Keep, broadcast.
    f'b: {{join: "true", {SIDES}, keep: {{left: Time, right: all}}}}': ("a join with keep needs 'left_order'",),
    f'b: {{join: "true", {SIDES}, keep: {{left: Time, right: all}}, {ORDERS}}}': (
        "box b (left reports, right reports): keep needs a clock; write clock: stream or clock: NAME in left_order",
    ),
    f'b: {{join: "true", {SIDES}, keep: {{left: Time}}, {CLOCKS}}}': ("write keep: {left: Field, right: all}, found",),
    f'b: {{join: "true", {SIDES}, keep: all, {CLOCKS}}}': ("write keep: {left: Field, right: all}, found all",),
    f'b: {{join: "true", {SIDES}, keep: {{left: Time, right: all}}, size: 3, {CLOCKS}}}': ("not both",),
    f'b: {{join: "true", {SIDES}, keep: {{left: Tim, right: all}}, {CLOCKS}}}': ("keep: left: unknown field 'Tim'",),
    f'b: {{join: "true", {SIDES}, keep: {{left: 5s, right: all}}, {CLOCKS}}}': (
        "keep: left is a field or an expression", "Time + 5; found '5s'",
    ),
    f'b: {{join: "true", {SIDES}, keep: {{left: Time, right: "Pos > 3"}}, {CLOCKS}}}': (
        "keep: right: 'Pos > 3' is boolean, the other side's order is int; cast it",
    ),
    'b: {join: "true", left: reports, right: people, keep: {left: Time, right: all}}': ("is a table; leave keep out",),
    'b: {join: "true", left: reports, right: people, broadcast: true}': ("is a table; leave broadcast out",),
    f'b: {{join: "true", {SIDES}, broadcast: true}}': (
        "box b (left reports, right reports): broadcast goes with asof: true; add that, or leave broadcast out",
    ),
    f'b: {{join: "true", {SIDES}, asof: true, broadcast: 3}}': ("broadcast is true or false, found '3'",),
    # Sizes, advances, timeouts.
    f"b: {{{COUNT}, order: {{on: Time}}, size: big}}": ("size: 'big' on a field of type int",),
    f"b: {{{COUNT}, order: {{on: Time}}, size: 10s}}": ("size: '10s' on a field of type int",),
    f"b: {{{COUNT}, order: {{on: Time}}, size: .inf}}": ("size: 'inf' on a field of type int",),
    f"b: {{{COUNT}, order: {{on: Time}}, size: true}}": ("size: 'True' on a field of type int",),
    f"b: {{{COUNT}, order: {{on: Time}}, size: 0}}": ("box b (from reports)", "above 0"),
    f"b: {{{COUNT}, order: {{on: Time}}, size: 1000001, advance: 10}}": (
        "size 1000001 and advance 10 put each tuple into more than 100,000 windows; write a larger advance",
    ),
    'b: {aggregate: {n: "count(*)"}, from: words, order: {on: At}, size: 1h, advance: 1ms}': ("100,000 windows",),
    f'b: {{{COUNT}, order: {{on: "#"}}, size: 100001, advance: 1}}': ("100,000 windows",),
    f"b: {{{COUNT}, order: {{on: Time}}, size: 99999999999999999999}}": ("'99999999999999999999' is too large",),
    f"b: {{bsort: {{}}, from: words, order: {{on: At, slack: {'9' * 400}d}}}}": ("is too large",),
    f"b: {{{COUNT}, order: {{on: Time}}, size: 5, timeout: 99999999999999999d}}": ("is too large",),
    f"b: {{bsort: {{}}, from: reports, order: {{on: Time, slack: {'9' * 40}}}}}": ("is too large",),
    f"b: {{{COUNT}, order: {{on: Time}}, size: 1.5}}": ("Time counts in whole numbers",),
    'b: {aggregate: {n: "count(*)"}, from: words, order: {on: At}, size: 10}': ("size: '10' on a timestamp",),
    'b: {aggregate: {n: "count(*)"}, from: words, order: {on: At}, size: 1 month}': (
        "'1 month' on a timestamp; write a span of time such as 60s; a month is written in days, such as 30d",
    ),
    'b: {aggregate: {n: "count(*)"}, from: words, order: {on: At}, size: 2 weeks}': ("a week is written in days",),
    'b: {aggregate: {n: "count(*)"}, from: words, order: {on: At}, size: 1m, advance: 0s}': (
        "box b (from words): advance must be above 0, found 0s",
    ),
    'b: {aggregate: {n: "count(*)"}, from: words, order: {on: At}, size: 0s}': (
        "box b (from words): size must be above 0, found 0s",
    ),
    'b: {aggregate: {n: "count(*)"}, from: words, order: {on: Day}, size: 36h}': ("whole days such as 1d",),
    f"b: {{{COUNT}, order: {{on: Time}}, size: 5, advance: -1}}": ("advance must be above 0, found -1",),
    f"b: {{{COUNT}, order: {{on: Time}}, size: 5, advance: 10s}}": ("advance: '10s' on a field of type int",),
    f'b: {{{COUNT}, order: {{on: Time}}, size: 5, advance: "Pos + 1"}}': ("neither a number nor a predicate",),
    f'b: {{{COUNT}, order: {{on: Time}}, size: 5, advance: "3<Posn"}}': ("box b (from reports)", "'Posn'"),
    f'b: {{{COUNT}, order: {{on: Time}}, size: 5, advance: "Pos > 1", align: true}}': ("align needs an advance",),
    f'b: {{{COUNT}, order: {{on: Time}}, size: 5, align: "no"}}': (
        "align is true, false or a time zone such as Europe/Berlin; found 'no'",
    ),
    f"b: {{{COUNT}, order: {{on: Time}}, size: 5, timeout: soon}}": ("timeout: 'soon' is not a span of time",),
    f"b: {{{COUNT}, order: {{on: Time}}, size: 5, timeout: 5}}": ("timeout: '5' is not a span of time",),
    f"b: {{{COUNT}, order: {{on: Time}}, size: 5, timeout: 0s}}": ("timeout must be above 0",),
    # Tops.
    'b: {top: {k: 1, by: "Pos"}, from: reports, size: 5}': (
        "box b: a top needs 'order'; write order: {on: Field, clock: stream}",
    ),
    "b: {wait: Time, from: reports, for: reports}": ("box b: a wait needs 'order'; write order: {on: Field}",),
    f'b: {{top: {{k: 0, by: "Pos"}}, {TOP}}}': ("box b (from reports): k is how many", "from 1 to", "found 0"),
    f'b: {{top: {{k: two, by: "Pos"}}, {TOP}}}': ("box b (from reports): top: k is how many", "found 'two'"),
    f'b: {{top: {{k: 1e3, by: "Pos"}}, {TOP}}}': ("top: k is how many tuples", "found '1000.0'"),
    f'b: {{top: {{k: 99999999999999999999, by: "Pos"}}, {TOP}}}': ("k is how many tuples", "1,000,000"),
    f'b: {{top: {{k: 1, buy: "Pos"}}, {TOP}}}': ("box b (from reports): top has no 'buy'; write {k: 3, by:",),
    f"b: {{top: {{k: 1}}, {TOP}}}": ("box b (from reports): top needs k and by",),
    f"b: {{top: 3, {TOP}}}": ("box b (from reports): top: expects a mapping, found '3'",),
    f"b: {{top: {{k: 1, by: []}}, {TOP}}}": ("needs an expression to rank by",),
    f"b: {{top: {{k: 1, by: [3]}}, {TOP}}}": ("top: by is a text", "found '[3]'"),
    f'b: {{top: {{k: 1, by: "Posn DESC"}}, {TOP}}}': ("box b (from reports): by: unknown field 'Posn'", "Sid, Time"),
    f'b: {{top: {{k: 1, by: "Pos DOWN"}}, {TOP}}}': ("box b (from reports): by: syntax error",),
    f'b: {{top: {{k: 1, by: "Pos", ties: 2}}, {TOP}}}': ("top: ties is true or false, found '2'",),
    f'b: {{top: {{k: 1, by: "Pos", rank: Sid}}, {TOP}}}': ("have a field Sid already; write rank:",),
    f'b: {{top: {{k: 1, by: "Pos", start: Time}}, {TOP}}}': ("have a field Time already; write start:",),
    f'b: {{top: {{k: 1, by: "Pos", rank: window_start}}, {TOP}}}': ("one name, window_start; rename one",),
    f'b: {{top: {{k: 1, by: "Pos", rank: null}}, {TOP}}}': ("top: rank is the name of a field, found 'None'",),
    f'b: {{top: {{k: 1, by: "Pos", rank: "#x"}}, {TOP}}}': ("box b (from reports): top: field '#x'", "rename it"),
    'b: {top: {k: 1, by: "Pos"}, from: reports, order: {on: Time}, size: all}': (
        "a top needs windows that end, found size: all; write a size such as 10 or 10s",
        "an aggregate with max_by(Field, Other)",
    ),
    # Window functions.
    'b: {aggregate: {n: "percentile(Pos)"}, from: reports, order: {on: Time}, size: 5}': ("takes 2 arguments",),
    'b: {aggregate: {n: "percentile(Pos, 95)"}, from: reports, order: {on: Time}, size: 5}': (
        "box b (from reports)", "a number between 0 and 1", "percentile(Pos, 0.95)",
    ),
    'b: {aggregate: {n: "percentile(Pos, Sid)"}, from: reports, order: {on: Time}, size: 5}': ("between 0 and 1",),
    'b: {aggregate: {n: "percentile(Word, 0.5)"}, from: words, order: {on: At}, size: 5s}': ("needs a number",),
    "b: {aggregate: {}, from: reports, order: {on: Time}, size: 5}": ("needs at least one function",),
    'b: {aggregate: {n: "cuont(*)"}, from: reports, order: {on: Time}, size: 5}': ("'cuont'", "count?"),
    'b: {aggregate: {n: "Pos"}, from: reports, order: {on: Time}, size: 5}': ("'Pos' is outside an aggregate",),
    'b: {aggregate: {n: "avg(Word)"}, from: words, order: {on: At}, size: 5s}': ("avg needs a number", "string"),
    'b: {aggregate: {Time: "count(*)"}, from: reports, order: {on: Time}, size: 5}': ("function Time", "rename it"),
    'b: {aggregate: {"": "count(*)"}, from: reports, order: {on: Time}, size: 5}': ("aggregate: field ''",),
    'b: {aggregate: "nowhere:F", from: reports, order: {on: Time}, size: 5}': ("cannot import 'nowhere:F'",),
    'b: {aggregate: "math:none", from: reports, order: {on: Time}, size: 5}': ("cannot import 'math:none'",),
    'b: {aggregate: "math:pi", from: reports, order: {on: Time}, size: 5}': ("math:pi is not a WindowFunction",),
    # Two streams.
    f'b: {{join: "left.Pos = right.Poss", {SIDES}, size: 3, {ORDERS}}}': ("(left reports, right reports)", "Poss"),
    f'b: {{join: "Pos = 3", {SIDES}, size: 3, {ORDERS}}}': ("'Pos' is on both sides",),
    f'b: {{join: "left.Pos + right.Pos", {SIDES}, size: 3, {ORDERS}}}': ("is int, a predicate must be boolean",),
    f'b: {{join: "left.Pos = right.Pos", {SIDES}, size: -3, {ORDERS}}}': ("size must be 0 or more, found -3",),
    f'b: {{join: "left.Pos = right.Pos", {SIDES}, {ORDERS}}}': ("a join of two streams needs 'size'",),
    'b: {join: "true", left: reports, right: words, size: 3, left_order: {on: Time}, right_order: {on: At}}': (
        "box b (left reports, right words)", "Time is int", "At is timestamp",
    ),
    f'b: {{join: "true", {SIDES}, size: 3, left_order: {{on: "#"}}, right_order: {{on: Time}}}}': ("not '#'",),
    'b: {join: "left.Sid = right.Sid", left: people, right: people}': ("both sides are tables",),
    f'b: {{join: "true", {SIDES}, asof: true, size: 3}}': (
        "box b (left reports, right reports): size does not go with asof: arrival order decides; leave size out",
    ),
    f'b: {{join: "true", {SIDES}, asof: true, {ORDERS}}}': ("left_order does not go with asof", "leave left_order out"),
    f'b: {{join: "true", {SIDES}, asof: {{left: Time}}}}': (
        "write asof: {left: At, right: Since}, or asof: true; found {'left': 'Time'}",
    ),
    f'b: {{join: "true", {SIDES}, asof: {{left: Tim, right: Time}}}}': ("left_order: order on Tim: no such field",),
    'b: {join: "true", left: reports, right: words, asof: {left: Time, right: Word}}': (
        "order on Word: string is neither a number nor a time",
    ),
    f'b: {{join: "true", {SIDES}, asof: {{left: Time, right: Time}}, size: 3}}': ("leave size out",),
    f'b: {{join: "true", {SIDES}, asof: {{left: Time, right: Time}}, left_order: {{on: Pos}}}}': (
        "asof goes by Time on the left, left_order by Pos; leave on out of left_order",
    ),
    f'b: {{join: "true", {SIDES}, asof: {{left: Time, right: Time}}, right_order: {{clock: group}}}}': (
        "asof by time needs a clock; write clock: stream or clock: NAME in right_order",
    ),
    'b: {join: "true", left: reports, right: words, asof: {left: Time, right: At}}': ("Time is int", "At is timestamp"),
    f'b: {{join: "true", {SIDES}, asof: 3}}': ("box b (left reports, ", "asof is true or false, found '3'"),
    f'b: {{join: "true", {SIDES}, asof: true, keep: {{left: Time, right: all}}}}': ("leave keep out",),
    f'b: {{join: "true", {SIDES}, keep: {{left: Time, right: all}}, {ORDERS}, anti: left}}': (
        "a join with keep has no 'anti'; write size in place of keep",
    ),
    f'b: {{join: "true", {SIDES}, asof: true, outer: right}}': ("outer is left with asof, found 'right'",),
    f'b: {{join: "true", {SIDES}, asof: true, anti: both}}': ("anti is left with asof, found 'both'",),
    f'b: {{join: "true", {SIDES}, asof: true, outer: left, anti: left}}': ("has both outer and anti", "keep one"),
    f'b: {{join: "true", {SIDES}, size: 3, {ORDERS}, outer: middle}}': (
        "box b (left reports, right reports): outer is left, right or both, found 'middle'",
    ),
    f'b: {{join: "true", {SIDES}, size: 3, {ORDERS}, anti: [left]}}': ("anti is left or right, found '['left']'",),
    'b: {join: "left.Sid = right.Sid", left: reports, right: people, asof: true}': (
        "asof is for two streams, and the right side is a table; leave asof out",
    ),
    'b: {join: "left.Sid = right.Sid", left: people, right: reports, outer: left}': (
        "outer is right where the left side is a table, found 'left'",
    ),
    'b: {filter: ["Sid > 1"], from: people}': ("box b (from people): a table can be a side of a join",),
    f'b: {{resample: {{Time: "avg(Pos)"}}, {SIDES}, size: 3, {ORDERS}}}': ("result are called Time; rename one",),
    f'b: {{resample: {{p: "avg(Pos)"}}, {SIDES}, {ORDERS}}}': ("a resample needs 'size', or 'match'",),
    "b: {wait: Tim, from: reports, for: reports, order: {on: Time}}": ("(from reports, for reports)", "Tim"),
    "b: {wait: Time, from: reports, for: words, order: {on: At}}": ("Time is int", "At is timestamp"),
    "b: {wait: At, from: words, for: reports, order: {on: Time, group_by: [Sid]}}": ("no field Sid",),
    # User-defined boxes.
    'b: {user: "nowhere:f", inputs: {a: reports}, outputs: {o: "A int"}}': ("box b (a reports)", "'nowhere:f'"),
    'b: {user: "math:pi", inputs: {a: reports}, outputs: {o: "A int"}}': ("math:pi is not a function",),
    f'b: {{{USER}, outputs: {{o: "A int"}}, key: {{a: [Nope]}}}}': ("key of input a: no field Nope",),
    f'b: {{{USER}, outputs: {{o: "A int"}}, key: {{c: [Sid]}}}}': ("key names the input c; inputs are a",),
    'b: {user: "math:sqrt", inputs: {a: reports, c: reports}, outputs: {o: "A int"}, key: {a: [Sid]}}': (
        "(a reports, c reports)", "different lengths",
    ),
    'b: {user: "math:sqrt", inputs: {a: reports, c: words}, outputs: {o: "A int"}, key: {a: Sid, c: Word}}': (
        "box b (a reports, c words): input a has the key (int), input c the key (string)",
    ),
    'a: {user: "math:sqrt", inputs: {x: reports}, outputs: {o: "A int"}, key: {x: Sid}, relations: kept}\n'
    '  b: {user: "math:sqrt", inputs: {x: words}, outputs: {o: "A int"}, key: {x: Word}, relations: kept}': (
        "relation kept: box a has the key (int), box b the key (string)",
    ),
    'a: {user: "math:sqrt", inputs: {x: reports}, outputs: {o: "A int"}, relations: kept}\n'
    '  b: {user: "math:sqrt", inputs: {x: reports}, outputs: {o: "A int"}, key: {x: Sid}, relations: kept}': (
        "relation kept: box a has the key ()", "box b the key (int)",
    ),
    f"b: {{{USER}, outputs: {{}}}}": ("needs at least one output",),
    f'b: {{{USER}, outputs: {{o: "A int"}}, key: {{a: 1.5}}}}': ("key of input a: expects a list of names",),
    f'b: {{{USER}, outputs: {{o: "A int"}}, key: {{1: Sid}}}}': ("key: '1' is not a name; put it in quotes",),
    f'b: {{{USER}, outputs: {{o: "A int"}}, relations: [[2020-01-01]]}}': ("relations: expects a list of names",),
    f'b: {{{USER}, outputs: {{o: "A int"}}, stateless: "no"}}': ("stateless is true or false, found 'no'",),
    f'b: {{{USER}, outputs: {{o: "A number"}}}}': ("box b (a reports): output o: field 'A'", "'number'"),
    'b: {user: "math:sqrt", inputs: [reports], outputs: {o: "A int"}}': ("box b: inputs: expects a mapping",),
}  # fmt: skip


@pytest.mark.parametrize("box", BOXES)
def test_fault_of_a_box(box: str) -> None:
    text = told(HEAD + box + TAIL)
    assert [part for part in BOXES[box] if part not in text] == [], text


# A whole file, and what its fault must say.
FILES: dict[str, str] = {
    "network: n\n\tinputs: {}": "network, line 2: not valid YAML: found character '\\t' that cannot start any token",
    'network: n\ninputs:\n  a: {schema: "A int"\nboxes: {}': "network, line 4: not valid YAML",
    "inputs: &x {}\nboxes: *y": "network, line 2: not valid YAML: found undefined alias 'y'",
    "inputs: !!map {}": "network, line 1: not valid YAML: '!!map': tags are not allowed",
    "? [a, b]\n: 3": "network, line 1: not valid YAML: a name is one word",
    "inputs: !!int x": "network, line 1: not valid YAML: '!!int': tags are not allowed",
    'inputs: !!int ""': "network, line 1: not valid YAML: '!!int': tags are not allowed",
    "inputs: {a: !!timestamp x}": "network, line 1: not valid YAML: '!!timestamp': tags are not allowed",
    "inputs: {a: !own x}": "network, line 1: not valid YAML: '!own': tags are not allowed",
    "inputs: 2020-13-45": "network: inputs is a mapping of names, found '2020-13-45'",
    "inputs: 2020-01-01T00:00:00+99:99": "network: inputs is a mapping of names, found '2020-01-01T00:00:00+99:99'",
    "inputs: &a {b: *a}": "network, line 1: not valid YAML: an alias contains itself",
    "\n".join(["a0: &a0 []", *(f"a{n}: &a{n} [{f'*a{n - 1}, ' * 9}]" for n in range(1, 12))]): (
        "network, line 7: not valid YAML: more than 100,000 values, with its aliases written out"
    ),
    "a: " + "[" * 1000: "network, line 1: not valid YAML: nested more than 50 levels deep",
    "a: \0": "network: not valid YAML: special characters are not allowed",
    "- a": "network: a network is a mapping with network, inputs, boxes, points and outputs",
    "": "network: a network is a mapping with network, inputs, boxes, points and outputs",
    "network: n\ninput: {}": "network: unknown key 'input' (did you mean inputs?); the keys are",
    "inputs: [a]": "network: inputs is a mapping of names, found '['a']'",
    "inputs: {a: {}}": 'input a: write {schema: "Field type, .."}',
    'inputs: {a: {schema: "A int", statik: true}}': "input a: an input has no 'statik' (did you mean static?)",
    "parameters: {p: 1}\nboxs: {b: {filter: ['A > {{p}}'], from: a}}": "network: unknown key 'boxs'",
    'inputs: {a: {schema: "A int", static: "no"}}': "input a: static is true or false, found 'no'",
    'inputs: {a: {schema: "A"}}': "input a: cannot read 'A' in the schema 'A'",
    'inputs: {a: {schema: "A number"}}': "input a: field 'A': unknown type 'number'",
    'inputs: {a: {schema: "A int, A int"}}': "input a: field 'A' appears twice",
    'inputs: {a: {schema: ""}}': "input a: the schema is empty",
    'inputs: {a: {schema: "`#x` int"}}': "input a: field #x: names that begin with # are reserved",
    'inputs:\n  a: {schema: "A int"}\n  a: {schema: "A int"}': "network, line 3: not valid YAML: 'a' appears twice",
    'inputs: {a: {schema: "Time int", order: Tim}}': (
        "input a: order: there is no field Tim (did you mean Time?); the fields are Time"
    ),
    'inputs: {a: {schema: "A int", order: [A]}}': "input a: order: there is no field ['A']; the fields are A",
    'inputs: {a: {schema: "A double", order: A}}': (
        "input a: order: A is double; inputs are merged by a whole number, a date or a timestamp"
    ),
    'inputs: {a: {schema: "A int", order: A}, b: {schema: "B date", order: B}}': (
        "input b: order: B is date, and A of input a is int: they cannot be compared; declare them alike"
    ),
    'inputs: {a: {schema: "A int", idle: 10s}}': "input a: idle says how long other inputs wait for this one in the",
    'inputs: {a: {schema: "A int", order: A, idle: 10}}': "input a: idle: '10' is not a span of time; write for",
    'inputs: {a: {schema: "A int", order: A, idle: 0s}}': "input a: idle: found '0s'; write a span above 0, such as",
    'inputs: {a: {schema: "A int", static: true, order: A}}': (
        "input a: a table is read whole before all else; leave order out"
    ),
    'inputs: {a: {schema: "A int", point: p, order: A}}': (
        "input a: the tuples of p come in the order in which they arrived there; leave order out"
    ),
    'inputs: {a: {schema: "A int"}}\nboxes: [a]': "network: boxes is a mapping of names to boxes",
    'inputs: {a: {schema: "A int"}}\noutputs: [a]': "network: outputs is a mapping of names",
    'inputs: {a: {schema: "A int"}}\noutputs: {o: {from: b}}': "output o: no input or box is called b; the inputs and",
    'inputs: {a: {schema: "A int"}}\noutputs: {o: {form: a}}': "output o: write {from: box}",
    'inputs: {a: {schema: "A int"}}\noutputs: {"o p": {from: a}}': "output o p: a name must not contain spaces",
    'inputs: {a: {schema: "A int"}}\noutputs: {../o: {from: a}}': "output ../o: a name must not contain '/'",
    'inputs: {/tmp/a: {schema: "A int"}}\noutputs: {o: {from: /tmp/a}}': "input /tmp/a: a name must not contain '/'",
    'inputs: {a: {schema: "A int", static: true}}\noutputs: {o: {from: a}}': "output o: a is a table, not a stream",
    "network: n": "network n has no input",
    'network: n\ninputs: {a: {schema: "A int", static: true}}': "network n has no input",
    'network: n\ninputs: {a: {schema: "A int"}}': "network n has no output",
}


@pytest.mark.parametrize("text", FILES)
def test_fault_of_a_file(text: str) -> None:
    found = told(text)
    assert found.startswith(FILES[text]), found


def told(text: str) -> str:
    """The fault of a network, which is one line."""
    with pytest.raises(AuroraError) as caught:
        from_text(text).checked()
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    "place, message",
    {
        "tests.network.factories:number": "cannot be called without arguments (missing a required argument: 'n')",
        "math:pi": "math:pi is not a function that makes a network, found 3.14",
        "os:getpid": "os:getpid does not return a network, found",
        "nowhere:network": "network: cannot import 'nowhere:network'",
    }.items(),
)
def test_fault_of_a_function_that_makes_no_network(place: str, message: str) -> None:
    with pytest.raises(AuroraError) as caught:
        read_network(place)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_stream_of_another_network_is_refused() -> None:
    one, two = Network("one"), Network("two")
    here, there = one.input("a", "A int"), two.input("b", "A int")
    message = "network one: stream b belongs to network two; add its boxes here"
    orders = {"size": 1, "left_order": {"on": "A"}, "right_order": {"on": "A"}}
    for attempt in (
        lambda: here.union(there, name="u"),
        lambda: here.join(there, "true", name="j", **orders),
        lambda: here.resample(there, {"n": "count(*)"}, name="r", **orders),
        lambda: here.wait("A", until=there, order={"on": "A"}, name="w"),
        lambda: one.user(print, inputs={"x": there}, outputs={"o": "A int"}, name="k"),
        lambda: one.output("o", there),
    ):
        with pytest.raises(AuroraError) as caught:
            attempt()
        assert str(caught.value) == message


def test_names_are_used_once() -> None:
    net = Network("n")
    stream = net.input("a", "A int")
    stream.filter("A > 1", name="b")
    net.output("o", stream)
    with pytest.raises(AuroraError, match=r"^input a: the name is used twice"):
        net.input("a", "A int")
    with pytest.raises(AuroraError, match=r"^box b: the name is used twice"):
        stream.filter("A > 1", name="b")
    with pytest.raises(AuroraError, match=r"^output o: the name is used twice"):
        net.output("o", stream)


def test_a_function_without_a_name_has_no_text() -> None:
    net = Network("n")
    stream = net.input("a", "A int")
    nameless = WindowFunction(Schema.parse("n int"), int, lambda n, rows: n + len(rows), lambda n: {"n": n})
    stream.aggregate(nameless, order={"on": "A"}, size=1, name="b")
    with pytest.raises(AuroraError, match=r"^box b: WindowFunction cannot be imported by its name"):
        to_text(net)
