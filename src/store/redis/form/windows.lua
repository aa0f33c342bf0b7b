--[==[
  Reads and writes single windows of a counter. This text follows section.lua in each script that needs it. The most frequent batch is settled
  without these functions, so that it need not create them.
]==]
-- Like `bounds_at`, but for loops, as in `for … in section_at, bytes, 1`. Returns where the next section begins, the name of the section at the
-- position, its number of windows, where its numbers begin, whether it is wide, and the position.
local function section_at(bytes, at)
  local next_at, numbers, windows, length, is_wide = bounds_at(bytes, at)
  if not next_at then return nil end
  local name = sub(bytes, at + 1, at + length)
  if is_wide then name = char(byte(name) - WIDE_MARK) .. sub(name, 2) end
  return next_at, name, windows, numbers, is_wide, at
end

-- Where the used tokens of a window are.
local function tokens_at(windows, numbers, i, is_wide)
  local size = is_wide and WIDE_DISTANCE_SIZE or DISTANCE_SIZE
  return numbers + START_SIZE + size * (windows - 1) + TOKENS_SIZE * (i - 1)
end

local function window_at(bytes, windows, numbers, i, is_wide)
  local seconds, started = nil, unpack_bytes('>' .. START_FORMAT, bytes, numbers)
  local distances = numbers + START_SIZE
  if is_wide then
    seconds = unpack_bytes('>' .. WIDE_LENGTH_FORMAT, bytes, numbers - WIDE_LENGTH_SIZE * (windows - i + 1))
  else
    seconds = HOUR * byte(bytes, numbers - LENGTH_SIZE * (windows - i + 1))
  end
  if i > 1 and is_wide then
    started = started + unpack_bytes('>' .. WIDE_DISTANCE_FORMAT, bytes, distances + WIDE_DISTANCE_SIZE * (i - 2))
  elseif i > 1 then
    started = started + unpack_bytes('>' .. DISTANCE_FORMAT, bytes, distances + DISTANCE_SIZE * (i - 2))
  end
  return seconds, started, (unpack_bytes('>' .. TOKENS_FORMAT, bytes, tokens_at(windows, numbers, i, is_wide)))
end

-- The bytes of the starts and used tokens of n windows. The used tokens begin at n + 1.
local function packed(format, n, numbers)
  local list = { unpack(numbers, 1, 2 * n) }
  for i = 2, n do list[i] = list[i] - list[1] end
  for i = n + 1, 2 * n do list[i] = math.min(list[i], MOST_TOKENS) end
  return pack(format, unpack(list))
end

-- A section with these windows, each given as seconds, start and used tokens; nothing if there are none.
local function section_of(name, windows)
  local n, seconds, numbers, is_far = #windows, {}, {}, false
  if n == 0 then return '' end
  for i, window in ipairs(windows) do
    seconds[i], numbers[i], numbers[n + i] = unpack(window)
    if math.abs(numbers[i] - numbers[1]) >= 2 ^ (8 * DISTANCE_SIZE - 1) then is_far = true end
  end
  local head, is_wide = head_of(name, seconds, n, is_far)
  local _, format = numbers_of(n, is_wide)
  return head .. packed(format, n, numbers)
end

-- Removes sections whose windows have all ended. Returns the other sections, and when their last window ends (0 if there are none).
local function tidy(bytes, now)
  local kept, ends = {}, 0
  for next_at, _, windows, numbers, is_wide, at in section_at, bytes, 1 do
    local over = 0
    for i = 1, windows do
      local seconds, started = window_at(bytes, windows, numbers, i, is_wide)
      over = math.max(over, started + seconds * 1000)
    end
    if over > now then
      kept[#kept + 1] = sub(bytes, at, next_at - 1)
      ends = math.max(ends, over)
    end
  end
  return table.concat(kept), ends
end
