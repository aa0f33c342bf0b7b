--[==[
  Notes since when gateways count in each of these windows. A window that they do not name is forgotten, because there is a gap if it comes
  back. For the name of a longest window (`longest `), the time is that from which its runs are kept for as long as those of a longest
  window. If a longer window was just removed, a counter may still hold a run of it, and until this run is over the runs of other windows are
  kept for the shorter time.

  KEYS[1] hash: name of a window -> since when, in milliseconds since the epoch. Fields that begin with `keep ` say how long runs are kept, and
          stay as they are
  ARGV    the names
]==]
local wanted = {}
local function seconds_of_longest(name) return tonumber(string.match(name, '^longest (%d+)') or '') or 0 end
local before = 0
for _, name in ipairs(ARGV) do wanted[name] = true end
for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
  if not wanted[name] and string.sub(name, 1, 5) ~= 'keep ' then
    redis.call('HDEL', KEYS[1], name)
    before = math.max(before, seconds_of_longest(name))
  end
  wanted[name] = nil
end
for _, name in ipairs(ARGV) do
  local seconds = seconds_of_longest(name)
  local from = seconds > 0 and before > seconds and now + before * 1000 or now
  if wanted[name] then redis.call('HSET', KEYS[1], name, string.format('%.0f', from)) end
end
