-- When the last window of a counter ends.
local function latest_end(bytes)
  local ends, at = 0, 1
  while true do
    local name, windows, numbers, next_at, is_wide = section_at(bytes, at)
    if not name then return ends end
    for i = 1, windows do
      local seconds, started = window_at(bytes, windows, numbers, i, is_wide)
      ends = math.max(ends, started + seconds * 1000)
    end
    at = next_at
  end
end
