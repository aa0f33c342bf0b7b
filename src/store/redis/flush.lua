--[[
  Adds what one process has counted to the series and the refusals, once. It reads and decodes everything before the first write,
  so that an error leaves nothing half done. This text follows common.lua and forgotten.lua.

  KEYS[1]   number of the last flush of the process
  KEYS[2]   hash: id of a refusal -> JSON
  KEYS[3]   sorted set: id of a refusal by its last time
  KEYS[4..] hashes of series, of half hours and of days, each once: name -> counts
  ARGV[1]   number of the flush
  ARGV[2]   for how many milliseconds that number is remembered
  ARGV[3]   JSON: s  [[key, start, name, counts, bound, is_day], ...]  what to add to series: key is a position in KEYS; bound is how
                                                        many names the hash may hold, 0 for any number; is_day is 1 for a day, else 0
                  e  [[id, refusal], ...]               what to add to refusals
  ARGV[4]   for how many milliseconds a half hour is kept, from its start
  ARGV[5]   for how many milliseconds a refusal is kept
  ARGV[6]   how many refusals are kept
  ARGV[7]   the name under which further names are counted in a hash that is full
  ARGV[8]   how many routes a refusal names
  ARGV[9]   for how many milliseconds a day is kept, from its start; 0 for not at all
  Output    time in milliseconds
]]
local sequence, remember = tonumber(ARGV[1]), tonumber(ARGV[2])
local flush = cjson.decode(ARGV[3])
local keep_series, keep_refusals, most, most_routes = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[8])
local keep_days = tonumber(ARGV[9])
local DAY = 86400000
if sequence <= (tonumber(redis.call('GET', KEYS[1]) or '0') or 0) then return now end

-- A text of another form was not written by us, and is ignored.
local function numbers(text)
  local found = {}
  if string.find(text, '[^%d -]') or string.find(text, '%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d') then return found end
  for number in string.gmatch(text, '%-?%d+') do found[#found + 1] = tonumber(number) end
  return found
end

-- Additions to a key of another type are lost, but the others are made.
local ours = {}
local function is_ours(key, command)
  if ours[key] == nil then
    ours[key] = reply_of(command, key) ~= nil
  end
  return ours[key]
end

-- The sums to write, by key and then by name.
local sums, names = {}, {}
for _, entry in ipairs(flush.s) do
  local key, start, name, counts, bound, is_day = unpack(entry)
  local keep = is_day == 1 and keep_days or keep_series
  if start > now - keep and start < now + DAY and is_ours(KEYS[key], 'HLEN') then
    sums[key] = sums[key] or { ends = start + keep, fields = {} }
    local fields = sums[key].fields
    local known = fields[name] or redis.call('HGET', KEYS[key], name)
    if not known and bound > 0 then
      names[key] = names[key] or redis.call('HLEN', KEYS[key])
      if names[key] >= bound then
        name = ARGV[7]
        known = fields[name] or redis.call('HGET', KEYS[key], name)
      else
        names[key] = names[key] + 1
      end
    end
    local sum = type(known) == 'table' and known or numbers(known or '')
    for i, count in ipairs(numbers(counts)) do sum[i] = (sum[i] or 0) + count end
    fields[name] = sum
  end
end

-- An entry of another form is replaced.
local function is_episode(old)
  if type(old) ~= 'table' or type(old.routes) ~= 'table' then return false end
  return type(old.first) == 'number' and type(old.last) == 'number' and type(old.count) == 'number'
end

-- Refusals of a user before he was forgotten are left out.
local place_of_forgotten = forgotten_places(prefix_of(KEYS[1]))
local function is_forgotten(episode)
  local place = type(episode.user) == 'string' and place_of_forgotten(episode.user)
  local left = place and redis.call('GET', place)
  return left and episode.first <= struct.unpack('>I6', left)
end

local episodes = {}
for i, entry in ipairs(flush.e) do
  local id, new = unpack(entry)
  local is_kept = new.last > now - keep_refusals and not is_forgotten(new)
  if is_kept and is_ours(KEYS[2], 'HLEN') and is_ours(KEYS[3], 'ZCARD') then
    local known = redis.call('HGET', KEYS[2], id)
    local is_json, old = pcall(cjson.decode, known or '')
    if is_json and is_episode(old) then
      local seen = {}
      for _, route in ipairs(old.routes) do seen[route] = true end
      for _, route in ipairs(new.routes) do
        if not seen[route] and #old.routes < most_routes then table.insert(old.routes, route) end
      end
      local latest = old.last > new.last and old or new
      latest.first, latest.count, latest.routes = math.min(old.first, new.first), old.count + new.count, old.routes
      new = latest
    end
    episodes[#episodes + 1] = { id = id, last = string.format('%.0f', new.last), json = cjson.encode(new) }
  end
end

redis.call('SET', KEYS[1], ARGV[1], 'PX', remember)
for key, sum in pairs(sums) do
  local written = {}
  for name, counts in pairs(sum.fields) do
    for i, count in ipairs(counts) do counts[i] = string.format('%.0f', count) end
    written[#written + 1] = name
    written[#written + 1] = table.concat(counts, ' ')
  end
  redis.call('HSET', KEYS[key], unpack(written))
  redis.call('PEXPIRE', KEYS[key], string.format('%.0f', sum.ends - now))
end
if #episodes == 0 then return now end
for _, episode in ipairs(episodes) do
  redis.call('HSET', KEYS[2], episode.id, episode.json)
  redis.call('ZADD', KEYS[3], episode.last, episode.id)
end
for _, key in ipairs({ KEYS[2], KEYS[3] }) do redis.call('PEXPIRE', key, string.format('%.0f', keep_refusals)) end

-- One flush adds fewer refusals than the 200 that can be removed here.
local excess = redis.call('HLEN', KEYS[2]) - most
local oldest = redis.call('ZRANGE', KEYS[3], 0, 199, 'WITHSCORES')
local gone = {}
for i = 1, #oldest, 2 do
  if #gone >= excess and tonumber(oldest[i + 1]) > now - keep_refusals then break end
  gone[#gone + 1] = oldest[i]
end
if #gone > 0 then
  redis.call('HDEL', KEYS[2], unpack(gone))
  redis.call('ZREMRANGEBYRANK', KEYS[3], 0, #gone - 1)
end
return now
