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
-- Seconds of the window of the books (quota/books.ts).
local BOOK = 118800
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

-- How the numbers of a section of n windows are packed: the used tokens, all, how many bytes those take, and the most tokens.
local function numbers_of(n, short)
  if short then
    local used = rep('I5', n)
    return '>' .. used, '>I6' .. rep('i4', n - 1) .. used, 9 * n + 2, 2 ^ 40 - 1
  end
  local used = rep('I6', n)
  return '>' .. used, '>' .. used .. used, 12 * n, 2 ^ 48 - 1
end

