"""The rules of Linear Road in SQL, one text for DuckDB and PostgreSQL. Numbers in comments are those of the rules.

A batch is the seconds {first} to {last} of one half minute; {here} has the reports of that half minute, {before} those
of the one before. {minute} is the minute of the batch, or the one that is closed or quoted. An answer is a line
with `@` where Emit goes when it leaves; a query for answers gives all of its lines as one text.
"""

__all__ = ["ANSWERS", "ASK", "CLOSE", "JOURNEYS", "MEANS", "MOVE", "QUOTE", "RECORD", "REPEATED", "TURN"]

# A half minute begins: its tables hold what was a minute ago.
TURN = {"reports": "truncate {here}", "starts": "truncate {starts}"}

REPEATED = "select count(*) > count(distinct vid) from arrived where type = 0"

# 2, 6, 9: the report 30 s earlier is of the same trip, unless the car has begun another since. What is quoted on
# entering a segment stays with the car until it enters the next.
# 3: a report 30 s after one from the same segment and minute adds no car, but moves the mean speed of its own.
MOVE = {
    "move": """
insert into {here}
with earlier as (
    select * from {before} b
    where time between {first} - 30 and {last} - 30
        and not exists (select 1 from starts s where s.vid = b.vid and s.time > b.time and s.time > {first} - 30)
),
moved as (
    select r.*, b.vid is null as starts, b.vid is null or b.seg <> r.seg as enters, b.toll as last_toll,
        case when b.xway = r.xway and b.lane = r.lane and b.dir = r.dir and b.pos = r.pos then b.still else 0 end
            as last_still,
        case when b.xway = r.xway and b.dir = r.dir and b.seg = r.seg and b.time >= {minute} * 60 - 60
            then b.spd end as last_spd
    from arrived r left join earlier b on b.vid = r.vid and b.time = r.time - 30
    where r.type = 0
)
select m.time, m.vid, m.spd, m.xway, m.lane, m.dir, m.seg, m.pos, m.starts, m.enters, m.last_still + 1,
    case when m.enters then coalesce(q.lav, -1) end, q.accident,
    case when not m.enters then m.last_toll when m.lane = 4 then 0 else coalesce(q.toll, 0) end,
    case when m.enters and m.last_toll > 0 then m.last_toll end,
    case when m.last_spd is null then 1 else 0 end,
    case when m.last_spd is null then m.spd else cast(m.spd - m.last_spd as double precision) / 2 end
from moved m left join quotes q on q.xway = m.xway and q.dir = m.dir and q.seg = m.seg and m.enters
"""
}

RECORD = {
    # 3
    "count": """
insert into counts
select xway, dir, seg, sum(cars), sum(speed) from {here} where time >= {first} group by xway, dir, seg
""",
    "starts": "insert into {starts} select vid, time from {here} where time >= {first} and starts",
    # 9
    "charge": "insert into charges select vid, time, charged from {here} where time >= {first} and charged > 0",
    # 7: a car is stopped from its fourth report in a row from one place until 30 s after the last of them, or until
    # it reports from elsewhere.
    "stop": """
insert into stopped select vid, time, time + 30, xway, lane, dir, pos from {here}
where time >= {first} and still >= 4 and lane between 1 and 3
""",
    "move on": """
update stopped set until = r.time from {here} r
where r.time >= {first} and r.vid = stopped.vid and r.time > stopped.time and r.time < stopped.until
    and (r.xway <> stopped.xway or r.lane <> stopped.lane or r.dir <> stopped.dir or r.pos <> stopped.pos)
""",
}

ANSWERS = {
    # 6
    "tolls": """
select string_agg(concat_ws(',', 0, vid, time, '@', lav, toll), chr(10)) from {here}
where time >= {first} and enters and lane <> 4
""",
    # 8
    "alerts": """
select string_agg(concat_ws(',', 1, time, '@', vid, accident), chr(10)) from {here}
where time >= {first} and enters and lane <> 4 and accident is not null
""",
    # 10: what was charged in the minutes before, and what since.
    "balances": """
with due as (
    select q.vid, q.time, sum(c.toll) as toll
    from (select distinct vid, time from arrived where type = 2) q
    join charges c on c.vid = q.vid and c.time <= q.time
    group by q.vid, q.time
)
select string_agg(concat_ws(',', 2, q.time, '@', q.time, q.qid,
    coalesce((select a.balance from accounts a where a.vid = q.vid), 0) + coalesce(d.toll, 0)), chr(10))
from arrived q left join due d on d.vid = q.vid and d.time = q.time
where q.type = 2
""",
    # 11: a copied car has the history of the car that it copies.
    "expenditures": """
select string_agg(concat_ws(',', 3, time, '@', qid, coalesce((
    select sum(h.tolls) from toll_history h
    where h.vid = q.vid % {vids} and h.day = q.day and h.xway = q.xway % {xways}), 0)), chr(10))
from arrived q where type = 3
""",
}

# 12: travel times have 30 s, so those of a few seconds are worked out together. A step of the recursion takes every
# journey one segment on; where there is no history a segment takes 36 s.
ASK = {
    "ask": """
insert into asked
select qid, time, xway % {xways}, case when send >= sinit then 0 else 1 end, dow, sinit, send, (tod - 1) * 60
from arrived where type = 4
"""
}
JOURNEYS = {
    "journeys": """
with recursive journeys as (
    select qid, time, xway, dir, dow, cast(sinit as integer) as seg, send, departs,
        cast(0 as double precision) as seconds, cast(0 as double precision) as toll
    from asked
    union all
    select j.qid, j.time, j.xway, j.dir, j.dow, j.seg + 1 - 2 * j.dir, j.send, j.departs,
        j.seconds + coalesce(m.seconds, 36), j.toll + coalesce(m.toll, 0)
    from journeys j
    left join segment_means m on m.xway = j.xway and m.dir = j.dir and m.dow = j.dow and m.seg = j.seg
        and m.min = cast(floor((j.departs + j.seconds) / 60) as integer) % 1440 + 1
    where j.seg <> j.send
)
select string_agg(concat_ws(',', 4, time, '@', qid, cast(floor(seconds + 0.5) as bigint),
    cast(floor(toll + 0.5) as bigint)), chr(10))
from journeys where seg = send
"""
}

# 12, 13: once, before the clock starts: what a segment takes and costs at each minute of a weekday.
MEANS = """
select xway, dir, dow, seg, min, 3600 / lav as seconds,
    case when lav < 40 and cnt > 50 then 2 * (cnt - 50) * (cnt - 50) else 0 end as toll
from (
    select xway, dir, ({today} + 699 - day) % 7 + 1 as dow, seg, min,
        avg(cast(lav as double precision)) as lav, avg(cast(cnt as double precision)) as cnt
    from segment_history where lav > 0 group by xway, dir, dow, seg, min
) as means
"""

CLOSE = {
    # 3: a car that began a trip in this minute, but was seen in it before, has more behind it than its report 30 s
    # earlier: what it was counted for is taken back, and its mean speeds are made from all of its reports.
    "statistics": """
insert into statistics
with minute as not materialized (
    select * from reports where time >= {minute} * 60 - 60 and time < {minute} * 60
),
again as (
    select distinct vid from minute r
    where exists (select 1 from starts s where s.vid = r.vid and s.time > r.time and s.time < {minute} * 60)
),
theirs as (
    select * from minute r where exists (select 1 from again a where a.vid = r.vid)
),
counted as (
    select xway, dir, seg, cars, speed from counts
    union all
    select xway, dir, seg, -cars, -speed from theirs
    union all
    select xway, dir, seg, 1, cast(sum(spd) as double precision) / count(*) from theirs group by xway, dir, seg, vid
)
select {minute}, xway, dir, seg, sum(cars), sum(speed) / sum(cars) from counted group by xway, dir, seg
""",
    "counts": "truncate counts",
    "accounts": """
insert into accounts select vid, sum(toll) from charges group by vid
on conflict (vid) do update set balance = accounts.balance + excluded.balance
""",
    "charges": "truncate charges",
}

QUOTE = {
    "old quotes": "truncate quotes",
    "old statistics": "delete from statistics where minute < {minute} - 5",
    "old stops": "delete from stopped where until <= {minute} * 60 - 120",
    # 4, 5, 7, 8: what holds in {minute}, from the five minutes before it and the accidents of the last.
    "quotes": """
insert into quotes
with seen as (
    select xway, dir, seg, cast(floor(avg(speed) + 1e-9) as integer) as lav,
        max(case when minute = {minute} - 1 then cnt else 0 end) as cars
    from statistics where minute between {minute} - 5 and {minute} - 1 group by xway, dir, seg
),
crashes as (
    select distinct a.xway, a.dir, cast((a.pos - a.pos % 5280) / 5280 as integer) as seg
    from stopped a
    join stopped b on b.xway = a.xway and b.lane = a.lane and b.dir = a.dir and b.pos = a.pos and b.vid > a.vid
    where greatest(a.time, b.time, {minute} * 60 - 120) < least(a.until, b.until, {minute} * 60 - 60)
),
ahead as (
    select xway, dir, upstream as seg, case dir when 0 then min(seg) else max(seg) end as accident
    from (
        select c.*, c.seg + u.away * (2 * c.dir - 1) as upstream
        from crashes c cross join (values (0), (1), (2), (3), (4)) as u(away)
    ) as reached
    group by xway, dir, upstream
)
select coalesce(s.xway, a.xway), coalesce(s.dir, a.dir), coalesce(s.seg, a.seg), coalesce(s.lav, -1),
    case when s.lav < 40 and s.cars > 50 and a.accident is null then 2 * (s.cars - 50) * (s.cars - 50) else 0 end,
    a.accident
from seen s full join ahead a on a.xway = s.xway and a.dir = s.dir and a.seg = s.seg
""",
}
