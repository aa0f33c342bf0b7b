--[==[
  The form of a history, for the scripts that follow this text. It follows form/section.lua and form/windows.lua. A run of a user or an
  organisation that is over moves into the history when its counter is next written as a whole.

  The value under the key of a history is a list of sections, one for each window of a category. A section has these big-endian parts:
    length of the category's name (1 byte), the name, length of the window in seconds (4), for how many seconds a run is kept after
    its end (4), number of runs (2), and for each run its start in milliseconds (6) and its tokens (6).
  Bytes after the last whole section are ignored.
]==]
-- The kinds of counters that have a history, and the kind of its key, each after the common prefix.
local HISTORIES = { ['c:'] = 'h:', ['o:'] = 'ho:' }

-- Created when the first history is touched, because most batches touch none and should not pay for these functions.
local function history_functions()
  local RUN = 12

  -- The section at a position. Returns its head (category and length of the window), how long a run is kept after its end in seconds, where its
  -- runs begin, and where the next section begins. Returns nothing if there is no whole section.
  local function runs_at(bytes, at)
    local length = byte(bytes, at)
    if not length or at + length + 10 > #bytes then return nil end
    local keep, count = unpack_bytes('>I4I2', bytes, at + length + 5)
    local first = at + length + 11
    local next_at = first + RUN * count
    if next_at > #bytes + 1 then return nil end
    return sub(bytes, at, at + length + 4), keep, first, next_at
  end

  local function head_of_runs(category, seconds) return char(#category) .. category .. pack('>I4', seconds) end

  -- The key of a counter's history; nothing for a counter without one.
  -- @param prefix  the length of the common beginning of all keys
  local function history_key(key, prefix)
    local kind = HISTORIES[sub(key, prefix + 1, prefix + 2)]
    return kind and sub(key, 1, prefix) .. kind .. sub(key, prefix + 3)
  end

  -- MGET returns nothing for a key of another type.
  local function read_history(key)
    local bytes = call('MGET', key)[1]
    return bytes and #bytes <= 2 * LONGEST_HISTORY and bytes or ''
  end

  -- The runs that a counter no longer holds, by the heads of their sections. A run that started in the future gets another start and
  -- goes on, so it is left out.
  -- @param before, after  the counter
  -- @param latest         the last moment at which an ended run may have started
  -- @param keep, shorter  for how many seconds runs are kept: those of the books and of the longest window of a category, and all
  -- others
  local function ended_runs(before, after, latest, keep, shorter)
    local starts, longest, ended = {}, {}, {}
    for _, name, windows, numbers, is_wide in section_at, after, 1 do
      local of = starts[name] or {}
      starts[name] = of
      for i = 1, windows do
        local seconds, started = window_at(after, windows, numbers, i, is_wide)
        of[seconds] = of[seconds] or started
      end
    end
    local is_any, runs = false, {}
    for _, name, windows, numbers, is_wide in section_at, before, 1 do
      for i = 1, windows do
        local seconds, started, tokens = window_at(before, windows, numbers, i, is_wide)
        if seconds > (longest[name] or 0) and seconds ~= BOOK then longest[name] = seconds end
        if tokens > 0 and started <= latest and not (starts[name] and starts[name][seconds] == started) then
          ended[#ended + 1] = { name, seconds, started, tokens }
        end
      end
    end
    for _, run in ipairs(ended) do
      local name, seconds, started, tokens = unpack(run)
      local kept = (seconds == BOOK or seconds == longest[name]) and keep or shorter
      if kept > 0 then
        runs[head_of_runs(name, seconds)] = { keep = kept, seconds = seconds, bytes = pack('>I6I6', started, tokens) }
        is_any = true
      end
    end
    return is_any and runs or nil
  end

  -- The runs of a section from the first one that must still be kept, and how long the history is without those before it.
  -- @param lasts   from the start of a run, in milliseconds
  -- @param length  of the history, without the runs that earlier sections have lost
  local function kept_runs(bytes, first, next_at, lasts, now, is_added, length)
    while first < next_at do
      local is_over = unpack_bytes('>I6', bytes, first) + lasts <= now
      local is_too_many = is_added and ((next_at - first) / RUN >= MOST_RUNS or length > LONGEST_HISTORY)
      if not is_over and not is_too_many then break end
      first = first + RUN
      length = length - RUN
    end
    return sub(bytes, first, next_at - 1), length
  end

  -- Appends a run. If the last run has the same start, because it was emptied at once, the two become one.
  local function append(runs, run)
    if sub(runs, -RUN, -7) ~= sub(run, 1, 6) then return runs .. run end
    local tokens = unpack_bytes('>I6', runs, #runs - 5) + unpack_bytes('>I6', run, 7)
    return sub(runs, 1, -7) .. pack('>I6', math.min(2 ^ 48 - 1, tokens))
  end

  -- The history with these runs added, and without runs that need not be kept any more. A window that is no longer the longest keeps its
  -- runs for as long as before.
  -- @param longest  the longest time in seconds for which a run is kept
  local function with_runs(bytes, added, now, longest)
    local parts, at, length = {}, 1, #bytes
    while true do
      local head, keep, first, next_at = runs_at(bytes, at)
      if not head then break end
      local runs
      local run = added[head]
      keep = math.max(run and run.keep or 0, math.min(keep, longest))
      local lasts = (unpack_bytes('>I4', head, #head - 3) + keep) * 1000
      runs, length = kept_runs(bytes, first, next_at, lasts, now, run, length)
      if run then runs = append(runs, run.bytes) end
      if runs ~= '' then parts[#parts + 1] = head .. pack('>I4I2', keep, #runs / RUN) .. runs end
      added[head] = nil
      at = next_at
    end
    for head, run in pairs(added) do parts[#parts + 1] = head .. pack('>I4I2', run.keep, 1) .. run.bytes end
    return table.concat(parts)
  end

  -- The history with an amount taken from the run with this start, or added if it is below 0; the same bytes if there is no such
  -- run.
  local function with_less(bytes, category, seconds, started, amount)
    local wanted, start, at = head_of_runs(category, seconds), pack('>I6', started), 1
    while true do
      local head, _, first, next_at = runs_at(bytes, at)
      if not head then return bytes end
      local found = head == wanted and string.find(bytes, start, first, true)
      while found and found < next_at do
        if (found - first) % RUN == 0 then
          local tokens = unpack_bytes('>I6', bytes, found + 6) - amount
          local left = pack('>I6', math.min(2 ^ 48 - 1, math.max(0, tokens)))
          return sub(bytes, 1, found + 5) .. left .. sub(bytes, found + RUN)
        end
        found = string.find(bytes, start, found + 1, true)
      end
      at = next_at
    end
  end

  return {
    key = history_key,
    read = read_history,
    ended_runs = ended_runs,
    with_runs = with_runs,
    with_less = with_less,
  }
end
