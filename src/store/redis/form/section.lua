--[==[
  Finds sections of a counter, and makes their heads. section.ts describes their form. script-words.ts replaces the words in capitals by
  their values.
]==]
local byte, char, sub, rep, unpack, huge = string.byte, string.char, string.sub, string.rep, unpack, math.huge
local pack, unpack_bytes, call = struct.pack, struct.unpack, redis.call

-- The section at a position. Returns where the next section begins, where the numbers of this one begin, its number of windows, the length
-- of its name, and whether it is wide. Returns nothing if there is no whole section.
local function bounds_at(bytes, at)
  local head, letter = byte(bytes, at, at + 1)
  if not letter then return nil end
  local length, is_wide = head % LONGEST_NAME + 1, letter >= WIDE_MARK
  local windows = (head - length + 1) / LONGEST_NAME + 1
  local length_size, distance_size = LENGTH_SIZE, DISTANCE_SIZE
  if is_wide then length_size, distance_size = WIDE_LENGTH_SIZE, WIDE_DISTANCE_SIZE end
  local numbers = at + 1 + length + length_size * windows
  local next_at = numbers + START_SIZE + distance_size * (windows - 1) + TOKENS_SIZE * windows
  if next_at > #bytes + 1 then return nil end
  return next_at, numbers, windows, length, is_wide
end

-- How the numbers of a section with n windows are packed: the used tokens, then all, and how many bytes all take.
local function numbers_of(n, is_wide)
  local used = rep(TOKENS_FORMAT, n)
  local format, size = DISTANCE_FORMAT, DISTANCE_SIZE
  if is_wide then format, size = WIDE_DISTANCE_FORMAT, WIDE_DISTANCE_SIZE end
  return '>' .. used, '>' .. START_FORMAT .. rep(format, n - 1) .. used, START_SIZE + size * (n - 1) + TOKENS_SIZE * n
end

-- The head of a section with n windows, and whether it is wide.
-- @param must_be_wide  whether it is wide even if all its lengths are hours
local function head_of(name, seconds, n, must_be_wide)
  local head, hours, is_wide = (n - 1) * LONGEST_NAME + #name - 1, { unpack(seconds, 1, n) }, must_be_wide
  for i = 1, n do
    local length = hours[i] / HOUR
    if length > MOST_HOURS or length % 1 ~= 0 then is_wide = true end
    hours[i] = length
  end
  if not is_wide then return char(head) .. name .. char(unpack(hours)), false end
  local lengths = pack('>' .. rep(WIDE_LENGTH_FORMAT, n), unpack(seconds, 1, n))
  return char(head, byte(name) + WIDE_MARK) .. sub(name, 2) .. lengths, true
end
