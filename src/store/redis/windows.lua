--[==[
  Reads and writes single windows of a counter, for the scripts that this text goes before, behind sections.lua. The most frequent batch
  is settled without these functions, and would pay for making them.
]==]
-- As `bounds_at`: the name of the section at a position, its windows, where its numbers and the next section begin, and its form.
local function section_at(bytes, at)
  local next_at, numbers, windows, length, form = bounds_at(bytes, at)
  if not next_at then return nil end
  local letters = { byte(bytes, at + 1, at + length) }
  for i = 1, math.min(length, 2) do letters[i] = letters[i] % 128 end
  return char(unpack(letters)), windows, numbers, next_at, form
end

-- Where the used tokens of a window are, and their form.
local function tokens_at(windows, numbers, i, form)
  if form == 'short' then return numbers + 4 * windows + 2 + 5 * (i - 1), '>I5' end
  return numbers + 6 * (windows + i - 1), '>I6'
end

local function window_at(bytes, windows, numbers, i, form)
  local seconds, started
  if form == 'seconds' then
    seconds = unpack_bytes('>I4', bytes, numbers - 4 * (windows - i + 1))
  else
    seconds = 3600 * byte(bytes, numbers - (windows - i + 1))
  end
  if form == 'short' then
    started = unpack_bytes('>I6', bytes, numbers)
    if i > 1 then started = started + unpack_bytes('>i4', bytes, numbers + 6 + 4 * (i - 2)) end
  else
    started = unpack_bytes('>I6', bytes, numbers + 6 * (i - 1))
  end
  local at, format = tokens_at(windows, numbers, i, form)
  return seconds, started, (unpack_bytes(format, bytes, at))
end

-- The bytes of starts and, from n + 1 on, used tokens. In the short form a distance has room for windows that run by one
-- clock: one that has not started is as one that is over, and a start in a far future comes nearer, also that of the first
-- window, from which the others keep their distance.
local function packed(shape, numbers, now)
  local n, list = shape.windows, { unpack(numbers, 1, 2 * shape.windows) }
  for i = 1, n do
    if shape.short then
      if list[i] == 0 then list[i] = now - shape.lengths[i] end
      if i == 1 then list[1] = math.min(list[1], now + 2 ^ 30) end
      if i > 1 then list[i] = math.max(-2 ^ 31, math.min(2 ^ 31 - 1, list[i] - list[1])) end
    end
    list[n + i] = math.min(list[n + i], shape.most)
  end
  return pack(shape.all, unpack(list))
end

-- Leaves out the sections whose windows have all ended, and says when the last of the others ends.
local function tidy(bytes, now)
  local kept, ends, at = {}, 0, 1
  while true do
    local name, windows, numbers, next_at, form = section_at(bytes, at)
    if not name then return table.concat(kept), ends end
    local over = 0
    for i = 1, windows do
      local seconds, started = window_at(bytes, windows, numbers, i, form)
      if started ~= 0 then over = math.max(over, started + seconds * 1000) end
    end
    if over > now then
      kept[#kept + 1] = sub(bytes, at, next_at - 1)
      ends = math.max(ends, over)
    end
    at = next_at
  end
end
