--[==[
  Notes in which windows gateways count from now on, each since when. One that they no longer name is forgotten: if it comes back, there is
  a gap before. Of the longest window it notes since when each run which begins is kept as one of the longest: a counter may still hold a run
  of a longer window that was just taken out, and until that is over others are kept as shorter ones.

  KEYS[1] hash: name of a window -> since when, in milliseconds since the epoch; behind `keep ` stands what is noted of how long runs are kept
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
