--[[
  Counters and histories of several users or organisations, as one text: many replies would cost whoever reads them more.

  KEYS     the key of the counters and the key of the history of each
  ARGV[1]  from which of them on, from 1
  ARGV[2]  no other one is begun when the text has so many bytes
  Output   the time in milliseconds (6 bytes), how many were read (4), and of each the bytes of the counters (4) and of the history
           (4), and both
]]
local LONGEST = 1048576
local time = redis.call('TIME')
local parts, bytes, owner, first = { '' }, 0, tonumber(ARGV[1]), tonumber(ARGV[1])
local most = tonumber(ARGV[2])
while owner * 2 <= #KEYS and bytes < most do
  -- MGET gives nothing for a key of another type.
  local both = redis.call('MGET', KEYS[owner * 2 - 1], KEYS[owner * 2])
  local counters, history = both[1] or '', both[2] or ''
  if #counters > LONGEST then counters = '' end
  if #history > 2 * LONGEST then history = '' end
  parts[#parts + 1] = struct.pack('>I4I4', #counters, #history)
  parts[#parts + 1] = counters
  parts[#parts + 1] = history
  bytes, owner = bytes + 8 + #counters + #history, owner + 1
end
parts[1] = struct.pack('>I6I4', time[1] * 1000 + math.floor(time[2] / 1000), owner - first)
return table.concat(parts)
