"""The scripts of the Redis store. Each script is one atomic step, with times of the server's clock.

A run has four keys:

    1  a hash: `token`, `about`, `n` (number of events), `go` (absent after a cancel), `end` (time of its
       end), `ttl` (milliseconds for which it is kept after its end)
    2  a list: its events
    3  the lease: exists while the run is owned
    4  the readers' mark: each reader sets its time to live to `ttl`, so the remaining
       time tells when the last reader was there

No key outlives the run: while it is owned, keys 1 and 2 are kept for the lease and `ttl`.

Cancelling and discarding have to work on a server whose memory is full: they only remove a field (`go`, `n`).
Renewing and touching only move times of expiry. A full server refuses a script at its first write only: a
script that adds data therefore adds it first.

Redis 6.2, Valkey 7.2 or later.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha1
from typing import Final

from streamweir.runs.store import MAX_FOUND, PAGE_BYTES, PAGE_EVENTS

__all__ = [
    "ALLOW",
    "APPEND",
    "CANCEL",
    "CLAIM",
    "DISCARD",
    "FIND",
    "FORGET",
    "INDEX",
    "LOOK",
    "READ",
    "RENEW",
    "SEIZE",
    "TAKE_BACK",
    "TOUCH",
    "Script",
]


@dataclass(frozen=True, slots=True)
class Script:
    """A script that is called by its digest.

    Attributes:
        text: the source in Lua.
        sha: its digest, as the server computes it.
    """

    text: str
    sha: str = field(init=False)

    def __post_init__(self) -> None:
        digest = sha1(self.text.encode(), usedforsecurity=False).hexdigest()
        object.__setattr__(self, "sha", digest)


_PUSH: Final = """
local function push(list, first)
  for i = first, #ARGV, 1000 do
    redis.call('RPUSH', list, unpack(ARGV, i, math.min(i + 999, #ARGV)))
  end
end
local function same(list, first, at)
  local held = redis.call('LRANGE', list, at, -1)
  if #held ~= #ARGV - first + 1 then return false end
  for i = 1, #held do if held[i] ~= ARGV[first + i - 1] then return false end end
  return true
end
local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
"""

CLAIM: Final = Script("""
local token = redis.call('HGET', KEYS[1], 'token')
if token then return token == ARGV[1] and 1 or 0 end
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'about', ARGV[2], 'n', 0, 'go', 1, 'ttl', ARGV[5])
redis.call('DEL', KEYS[2])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('SET', KEYS[3], 1, 'PX', ARGV[3])
redis.call('SET', KEYS[4], 1, 'PX', ARGV[5])
return 1
""")
"""Arguments: token, about, lease, its times to live running and ended (ms). Result: 1, or 0 if it exists."""

APPEND: Final = Script(
    _PUSH
    + """
local m = redis.call('HMGET', KEYS[1], 'token', 'n', 'end')
local n, at = tonumber(m[2]), tonumber(ARGV[2])
if m[1] ~= ARGV[1] or not n then return -1 end
local last = ARGV[5] == '1'
if m[3] or at ~= n then
  if (m[3] and true or false) == last and at <= n and same(KEYS[2], 6, at) then return n end
  return -1
end
if redis.call('LLEN', KEYS[2]) ~= n then return -1 end
push(KEYS[2], 6)
n = n + #ARGV - 5
if last then
  redis.call('HSET', KEYS[1], 'n', n, 'end', now())
  redis.call('DEL', KEYS[3], KEYS[4])
else
  redis.call('HSET', KEYS[1], 'n', n)
  redis.call('SET', KEYS[3], 1, 'PX', ARGV[3])
end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
redis.call('PUBLISH', KEYS[1], n)
return n
"""
)
"""Arguments: token, position, lease, time to live, 1 if the run ends, events. Result: the number of events,
or -1 if the run is lost.
"""

RENEW: Final = Script("""
local m = redis.call('HMGET', KEYS[1], 'token', 'n', 'end', 'go')
if m[1] ~= ARGV[1] or not m[2] or m[3] then return {-1, 0} end
if redis.call('PEXPIRE', KEYS[3], ARGV[2]) == 0 then
  local set = redis.pcall('SET', KEYS[3], 1, 'PX', ARGV[2])
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return {m[4] and 0 or 1, redis.call('PTTL', KEYS[4])}
""")
"""Arguments: token, lease, time to live. Result: 1 if a cancel was asked for (-1: lost), and the remaining
time of the readers' mark.
"""

DISCARD: Final = Script("""
local m = redis.call('HMGET', KEYS[1], 'token', 'n', 'end')
if m[1] ~= ARGV[1] or m[3] then return -1 end
redis.call('UNLINK', KEYS[2], KEYS[3], KEYS[4])
if m[2] then
  redis.call('HDEL', KEYS[1], 'n', 'go')
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  redis.call('PUBLISH', KEYS[1], 'gone')
end
return 1
""")
"""Arguments: token, time to live. Result: 1, or -1 if the run is lost."""

LOOK: Final = Script("""
local m = redis.call('HMGET', KEYS[1], 'about', 'n', 'end')
return {m[1], m[2], m[3], redis.call('EXISTS', KEYS[3]), redis.call('LLEN', KEYS[2])}
""")
"""No arguments. Result: about, number of events, time of the end, whether owned, length of the list."""

READ: Final = Script(f"""
local events = redis.call('LRANGE', KEYS[2], ARGV[1], ARGV[1] + {PAGE_EVENTS - 1})
local size = 0
for i = 1, #events do
  size = size + #events[i]
  if i > 1 and size > {PAGE_BYTES} then return {{unpack(events, 1, i - 1)}} end
end
return events
""")
"""Argument: position. Result: a page of events."""

SEIZE: Final = Script(
    _PUSH
    + """
local m = redis.call('HMGET', KEYS[1], 'token', 'n', 'end')
if m[1] == ARGV[1] then return 1 end
if not m[2] or m[3] or tonumber(m[2]) ~= tonumber(ARGV[2]) then return 0 end
if redis.call('EXISTS', KEYS[3]) == 1 or redis.call('LLEN', KEYS[2]) ~= tonumber(m[2]) then return 0 end
push(KEYS[2], 4)
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'n', m[2] + #ARGV - 3, 'end', now())
redis.call('UNLINK', KEYS[4])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
redis.call('PUBLISH', KEYS[1], 'end')
return 1
"""
)
"""Arguments: a new token, position, time to live, events. Result: 1, or 0 if the run cannot be seized."""

CANCEL: Final = Script("return redis.call('HDEL', KEYS[1], 'go')")
TOUCH: Final = Script("""
local m = redis.call('HMGET', KEYS[1], 'ttl', 'n', 'end')
if not m[1] or not m[2] or m[3] then return 0 end
local left = math.min(tonumber(m[1]), redis.call('PTTL', KEYS[1]))
if left > 0 and redis.call('PEXPIRE', KEYS[4], left) == 0 then
  redis.pcall('SET', KEYS[4], 1, 'PX', left)
end
return 1
""")
FORGET: Final = Script("""
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3], KEYS[4])
redis.call('PUBLISH', KEYS[1], 'gone')
return 1
""")

INDEX: Final = Script(f"""
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZADD', KEYS[1], 'NX', t[1] * 1000000 + t[2], ARGV[1])
redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[1])
local function drop(runs)
  for i = 1, #runs, 1000 do
    local last = math.min(i + 999, #runs)
    redis.call('ZREM', KEYS[1], unpack(runs, i, last))
    redis.call('ZREM', KEYS[2], unpack(runs, i, last))
  end
end
drop(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now))
drop(redis.call('ZRANGE', KEYS[1], 0, {-10 * MAX_FOUND - 1}))
local latest = redis.call('ZREVRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2]
if latest then
  redis.call('PEXPIRE', KEYS[1], latest - now)
  redis.call('PEXPIRE', KEYS[2], latest - now)
end
return 1
""")
"""Arguments: run, time to live. Result: 1. Called for each key. The first set orders the runs; the second
holds until when each run is kept.
"""

FIND: Final = Script(f"return redis.call('ZREVRANGE', KEYS[1], 0, {MAX_FOUND - 1})")
"""No arguments. Result: the newest runs of one key."""

ALLOW: Final = Script("""
local t = redis.call('TIME')
local now = t[1] + t[2] / 1000000
local limit, seconds = tonumber(ARGV[1]), tonumber(ARGV[2])
local w = redis.call('HMGET', KEYS[1], 'began', 'before', 'count')
local began, before, count = tonumber(w[1]), tonumber(w[2]), tonumber(w[3])
if not began or now >= began + 2 * seconds then
  began, before, count = now, 0, 0
elseif now >= began + seconds then
  began, before, count = began + seconds, count, 0
end
local covered = 1 - (now - began) / seconds
local room = limit - count
if room > 0 and before * covered <= room then
  redis.call('HSET', KEYS[1], 'began', string.format('%.6f', began), 'before', before, 'count', count + 1)
  redis.call('PEXPIRE', KEYS[1], math.ceil((began + 2 * seconds - now) * 1000))
  return '0'
end
local in_the_way = 1
if room > 0 then in_the_way = 1 - room / before end
return string.format('%.6f', math.max(began + seconds * in_the_way - now, 0.001))
""")
"""Arguments: requests, seconds. Result: the seconds to wait, as text. The window is that of `RateLimiter`."""

TAKE_BACK: Final = Script("""
local count = tonumber(redis.call('HGET', KEYS[1], 'count'))
if count and count > 0 then redis.call('HINCRBY', KEYS[1], 'count', -1) end
return 1
""")
