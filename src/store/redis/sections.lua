--[==[
  The form of a counter, for the scripts that this text goes before.

  What lies under a key is a list of sections, one for each category:
    windows and length of the name (1 byte, see `head_of`), name, seconds of each window (4 bytes each; where all are
    whole hours and at most 255, hours of 1 byte each, and the name's first byte is 128 more), start of each in
    milliseconds (6 each), used tokens of each (6 each); big-endian.
  In the short form the lengths are hours, the name's second byte is 128 more too, and the numbers are: start of the first
    window (6), of each other window its distance from that (4, with a sign), used tokens of each (5 each).
  Every form is read. A window is there once. One that has not started has start 0, in the short form any start that is
  over. What follows the last whole section counts as nothing.
]==]
local byte, char, sub, rep, unpack, huge = string.byte, string.char, string.sub, string.rep, unpack, math.huge
local pack, unpack_bytes, call = struct.pack, struct.unpack, redis.call
-- No counter of ours grows to this, and whatever else lies there must not hold Redis up.
local LONGEST = 1048576

-- The section at a position: where the next one begins, where its numbers do, its number of windows, the length of its
-- name and its form: 'seconds', 'hours' or 'short'. Nothing if no whole section is.
local function bounds_at(bytes, at)
  local first, letter, second = byte(bytes, at, at + 2)
  if not second then return nil end
  local length, form, numbers, next_at = first % 32 + 1, 'hours', nil, nil
  local windows = (first - length + 1) / 32 + 1
  if letter < 128 then
    form, numbers = 'seconds', at + 1 + length + 4 * windows
    next_at = numbers + 12 * windows
  else
    numbers = at + 1 + length + windows
    if second < 128 or length == 1 then
      next_at = numbers + 12 * windows
    else
      form, next_at = 'short', numbers + 9 * windows + 2
    end
  end
  if next_at > #bytes + 1 then return nil end
  return next_at, numbers, windows, length, form
end

-- The same with its name.
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

-- How the numbers of a section are packed, by its number of windows and whether it is short.
local function shape_numbers(shape)
  local n = shape.windows
  if shape.short then
    shape.used, shape.all = '>' .. rep('I5', n), '>I6' .. rep('i4', n - 1) .. rep('I5', n)
    shape.bytes, shape.most = 9 * n + 2, 2 ^ 40 - 1
  else
    shape.used, shape.all = '>' .. rep('I6', n), '>' .. rep('I6', 2 * n)
    shape.bytes, shape.most = 12 * n, 2 ^ 48 - 1
  end
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
