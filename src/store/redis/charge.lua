--[[
  Settles one batch of refunds and charges. Reads and checks everything before the first write, so that an error
  (out of memory, read-only replica) leaves nothing half done: Redis does not roll back.

  KEYS[1]   last reply of the instance that sends the batch
  KEYS[2..] the counters that the batch touches
  ARGV[1]   sequence of the batch within its instance
  ARGV[2]   how long the reply is remembered, in milliseconds
  ARGV[3]   the batch as JSON; key and limits are 1-based positions:
              l  [[seconds, limit, seconds, limit, ...], ...]                 sets of limits
              r  [[key, cost, seconds, startedAt, seconds, startedAt, ...], ...] refunds
              c  [[cost, key, limits] or [cost, key, limits, key, limits], ...]  charges
  Output    { time in milliseconds, one '1' (accepted) or '0' (refused) for each charge, counter as it was, ... }
            From these the caller works out every number by the same arithmetic.

  A counter is a string of 16-byte entries: seconds (4), start in milliseconds (6), used (6), big-endian.
]]
local ENTRY = 'I4I6I6'
local instance, sequence, remember, batch = KEYS[1], tonumber(ARGV[1]), ARGV[2], cjson.decode(ARGV[3])

-- A batch that was applied already is answered as it was then; one that was overtaken is applied never.
local last = redis.call('GETRANGE', instance, 0, 5)
if #last == 6 then
  local applied = struct.unpack('>I6', last)
  if applied == sequence then
    return cmsgpack.unpack(string.sub(redis.call('GET', instance), 7))
  elseif applied > sequence then
    return redis.error_reply('STALE batch ' .. sequence .. ' comes after ' .. applied)
  end
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local before = {}
if #KEYS > 1 then before = redis.call('MGET', unpack(KEYS, 2)) end

-- Counters are flat lists: seconds, startedAt, used, seconds, ... Windows that have ended are left out.
-- A whole counter is read and written by one call, with a format for its number of windows.
local counters, changed, formats = {}, {}, {}

local function format_of(windows)
  local format = formats[windows]
  if not format then
    format = '>' .. string.rep(ENTRY, windows)
    formats[windows] = format
  end
  return format
end

local function running(list)
  local kept = {}
  for at = 1, #list, 3 do
    if now < list[at + 1] + list[at] * 1000 then
      local n = #kept
      kept[n + 1], kept[n + 2], kept[n + 3] = list[at], list[at + 1], list[at + 2]
    end
  end
  return kept
end

local function counter_at(key)
  local counter = counters[key]
  if counter then return counter end
  local bytes = before[key]
  if bytes and #bytes > 0 and #bytes % 16 == 0 then
    counter = { struct.unpack(format_of(#bytes / 16), bytes) }
    counter[#counter] = nil -- the position behind the last entry
    for at = 1, #counter, 3 do
      if now >= counter[at + 1] + counter[at] * 1000 then
        counter = running(counter)
        break
      end
    end
  else
    counter = {}
  end
  counters[key] = counter
  return counter
end

local function find(counter, seconds)
  for at = 1, #counter, 3 do
    if counter[at] == seconds then return at end
  end
end

local function fits(counter, limits, cost)
  for l = 1, #limits, 2 do
    local at = find(counter, limits[l])
    if (at and counter[at + 2] or 0) + cost > limits[l + 1] then return false end
  end
  return true
end

local function add(key, limits, cost)
  local counter = counters[key]
  for l = 1, #limits, 2 do
    local at = find(counter, limits[l])
    if at then
      counter[at + 2] = counter[at + 2] + cost
    else
      local n = #counter
      counter[n + 1], counter[n + 2], counter[n + 3] = limits[l], now, cost
    end
  end
  changed[key] = true
end

for _, refund in ipairs(batch.r) do
  local key, cost = refund[1], refund[2]
  local counter = counter_at(key)
  for r = 3, #refund, 2 do
    local at = find(counter, refund[r])
    if at and counter[at + 1] == refund[r + 1] then
      counter[at + 2] = math.max(0, counter[at + 2] - cost)
      changed[key] = true
    end
  end
end

local decisions = {}
for n, charge in ipairs(batch.c) do
  local cost, own, own_limits = charge[1], charge[2], batch.l[charge[3]]
  local all, all_limits = charge[4], batch.l[charge[5]]
  if fits(counter_at(own), own_limits, cost) and (not all or fits(counter_at(all), all_limits, cost)) then
    add(own, own_limits, cost)
    if all then add(all, all_limits, cost) end
    decisions[n] = '1'
  else
    decisions[n] = '0'
  end
end

local reply = { now, table.concat(decisions), unpack(before) }

-- From here on only writes. Every key ends by itself: a counter with its last window.
redis.call('SET', instance, struct.pack('>I6', sequence) .. cmsgpack.pack(reply), 'PX', remember)
for key in pairs(changed) do
  local counter, ends = counters[key], 0
  for at = 1, #counter, 3 do
    local over = counter[at + 1] + counter[at] * 1000
    if over > ends then ends = over end
  end
  redis.call('SET', KEYS[key + 1], struct.pack(format_of(#counter / 3), unpack(counter)), 'PXAT', string.format('%.0f', ends))
end

return reply
