--[==[
  Settles one batch of refunds and charges. Reads and checks everything before the first write, so that an error
  (out of memory, read-only replica) leaves nothing half done: Redis does not roll back. It follows form/section.lua, which has the form
  of a counter. This text settles the most frequent batch; charge.lua settles all others. Between the two stand form/windows.lua,
  forgotten.lua, history.lua and once.lua, which the most frequent batch need not make.

  KEYS[1]   last reply to the instance that sends the batch
  KEYS[2..] the counters that the batch touches, and what is remembered of charges by a key, each once
  ARGV[1]   sequence of the batch within its instance
  ARGV[2]   how long the reply is remembered, in milliseconds
  ARGV[3]   JSON; a key is its position in KEYS, everything else counts from 1:
              shapes   [[seconds, ..., from, to, category], ...]   the windows of a category; where the last of them is that of the
                                       books, from and to are the day around the moment at which the batch was made, else 0
              limits   [[limit, ...], ...]    one for each window of a shape but for that of the books, which is the last
              plans    [[cost, ...], ...]     what many charges have in common; batch-text.ts names the numbers. A charge that is
                                       forced is accepted whatever was used, and may have no personal windows
              periods  [shape, window, from, to, ...]     the period around that moment of each other calendar window
              history  'prefix keep shorter anonymous key ...'    how many characters all keys have in common, and for how many
                                       seconds runs of the longest window of a category are kept, of the others, and of all windows
                                       of the users of these keys. The keys of histories follow from those of the counters. Few
                                       batches touch one, so it is a text, which the others need not read
              refunds  [[key, category, amount, seconds, startedAt, ...], ...]    an amount below 0 is charged
              onces    [[charge, key, body, for, replays, forgotten, receipt, one], ...]   by its number the charge of a request that may
                                       come again: a hash of its body, for how many milliseconds how many repetitions are not
                                       charged, after how many the charge may be forgotten, the receipt without its starts, and 1
                                       where all requests of the key are one use
              uses     [[key, first, since, forgotten, cost, reserve, unreached, refund, refund, meter, kept], ...]   what one use of a remembered
                                       charge cost: whether it is that of the charge itself (1) and not of a repetition, the time of
                                       the charge, the cost, what it would be charged by itself, whether it reached nobody (1), and
                                       the first and the last of the refunds of it, which get their amount by it, and the number of
                                       the meter that these are of: 0 for the first; and 1 where the report is
                                       remembered if the charge is not
              meters   [[charge, plan, organisation, ...], ...]   by its number the charge that has further meters: of each the plan,
                                       and the key of the organisation, or 0. All of them are charged, or none. A charge
                                       with grants is here too, if with no further meter
              grants   [[charge, meter, scope, shape, until, tokens], ...]    by its number the charge, and by theirs the meter and the scope
                                       (1 the user, 2 the organisation), where a grant pays in the place of windows without room: the
                                       windows of the scope are then not charged, but for that of the books. The first that has
                                       room pays, before the end of it (until, milliseconds)
            All but the first three are missing where a batch has none of them.
  ARGV[4]   the charges, 4 bytes each: key and plan, each as two digits of base 128; behind these the key of the
            organisation, if the plan has windows for it
  ARGV[5]   the batch of the instance that was settled last, as far as its sender knows; 0 for none
  Output    'batch:', sequence (6 bytes), time in milliseconds (6), a letter for each charge: '1' (accepted) or '0'
            (refused); with a key also '2' (accepted as a repetition, not charged), '3' (refused: another body has the key)
            or '4' (accepted and charged, as it was repeated too often);
            then the numbers of each section of its shape, as they were when it was opened, refunds given
            back: the user's by each charge, then that of the organisation and the global one, each the first time and
            where its shape changes, and of a charge that has further meters or
            grants those of its user and organisation by each meter, each scope with its grants behind it;
            then for each '2' the time of the charge (6 bytes), the length of its receipt (2) and
            the receipt; at the end for each of `uses` the tokens that were given back, and 2^47 (6). From these the caller
            works out everything else by the same arithmetic.

  Where the store does not know the batch of ARGV[5] any more, it replies with an error, 'LOST' and the last batch that it knows, and
  nothing is written.

  Where a period does not hold the time of the script, it replies with an error, 'CALENDAR' and its time in milliseconds, and
  nothing is written. The caller makes the batch anew, with the periods around that time.

  A charge that starts no window changes the used tokens alone, in place: then neither the other bytes nor the moment at
  which the key ends change, and SETRANGE costs a third of SET with an expiry (0.6 and 1.9 microseconds).
]==]
local REPLY = 'batch:'
local sequence = tonumber(ARGV[1])

-- Positions in `values` are those in KEYS. MGET returns nothing for a key of another type.
local values = call('MGET', unpack(KEYS))
for key = 2, #KEYS do
  if values[key] and #values[key] > LONGEST then values[key] = false end
end

-- A batch that was applied already gets the same reply again. A batch that a later one has overtaken is never applied.
local last, applied = values[1], 0
if last and #last >= 18 and sub(last, 1, 6) == REPLY then
  applied = unpack_bytes('>I6', last, 7)
  if applied == sequence then return last end
  if applied > sequence then return redis.error_reply('STALE batch ' .. sequence .. ' comes after ' .. applied) end
end
-- Refunds of charges that were forgotten would take tokens from others.
if applied < tonumber(ARGV[5] or 0) then return redis.error_reply('LOST ' .. applied) end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local batch = cjson.decode(ARGV[3])

-- A calendar window runs if it started in the present period. So instead of a length the shape gets the longest time that it can have
-- run, plus a millisecond. A table that is created with all fields need not grow: shapes were a fifth of the cost of most batches.
for i, shape in ipairs(batch.shapes) do
  local n = #shape - 3
  local from, to, name = shape[n + 1], shape[n + 2], shape[n + 3]
  if to ~= 0 and (now < from or now >= to) then return redis.error_reply('CALENDAR ' .. string.format('%.0f', now)) end
  local lengths = { unpack(shape, 1, n) }
  for k = 1, n do lengths[k] = lengths[k] * 1000 end
  if to ~= 0 then lengths[n] = now - from + 1 end
  local head, is_wide = head_of(name, shape, n)
  local used, all, bytes = numbers_of(n, is_wide)
  batch.shapes[i] = {
    name = name, windows = n, seconds = shape, lengths = lengths, head = head, size = #head,
    used = used, all = all, bytes = bytes,
  }
end

local calendars = batch.periods
for i = 1, calendars and #calendars or 0, 4 do
  local from = calendars[i + 2]
  if now < from or now >= calendars[i + 3] then return redis.error_reply('CALENDAR ' .. string.format('%.0f', now)) end
  batch.shapes[calendars[i]].lengths[calendars[i + 1]] = now - from + 1
end

-- Where the numbers of the section with exactly this head begin.
local function find(bytes, shape)
  local at, head, size = 1, shape.head, shape.size
  while sub(bytes, at, at + size - 1) ~= head do
    at = bounds_at(bytes, at)
    if not at then return nil end
  end
  if at + size + shape.bytes > #bytes + 1 then return nil end
  return at + size
end

-- Settles one charge whose windows all run. It starts and ends nothing, so only the used tokens of each counter change. At everyday
-- rates most batches are of this kind. Here they cost 0.8 of what they cost below, and a charge of several meters, whose sections lie
-- apart, costs half. Returns the reply; nothing for any other batch, and then nothing is written.
local function settle_one(charge)
  local is_one = #charge == 4 or #charge == 6
  if not is_one or batch.refunds or batch.onces or batch.uses or batch.grants then return nil end
  local a, b, c, d, e, f = byte(charge, 1, 6)
  local plan = batch.plans[c * 128 + d]
  -- `writes` has the key, the offset and the tokens of each section.
  local fits, records, writes = true, { '' }, {}

  -- Whether all windows of a counter run.
  local function look(key, shape, limits, cost)
    local bytes = values[key]
    local numbers = bytes and find(bytes, shape)
    if not numbers then return false end
    local section = { unpack_bytes(shape.all, bytes, numbers) }
    local n, first, behind, lengths = shape.windows, section[1], numbers + shape.bytes, shape.lengths
    for i = 1, n do
      local started = i == 1 and first or first + section[i]
      if started > now or now >= started + lengths[i] then return false end
      local used, limit = section[n + i] + cost, limits[i]
      if limit and used > limit then fits = false end
      section[n + i] = used < MOST_TOKENS and used or MOST_TOKENS
    end
    records[#records + 1] = sub(bytes, numbers, behind - 1)
    local tokens, w = pack(shape.used, unpack(section, n + 1, 2 * n)), #writes
    writes[w + 1], writes[w + 2], writes[w + 3] = KEYS[key], behind - #tokens - 1, tokens
    return true
  end

  local shapes, limits, own_key, their_key = batch.shapes, batch.limits, a * 128 + b, e and e * 128 + f
  local is_forced, group, further = plan[PLAN_IS_FORCED] == 1, batch.meters and batch.meters[1], 2
  while plan do
    local mine, theirs, all = shapes[plan[PLAN_OWN_SHAPE]], shapes[plan[PLAN_THEIR_SHAPE]], shapes[plan[PLAN_ALL_SHAPE]]
    local cost = plan[PLAN_COST]
    if not mine or not look(own_key, mine, limits[plan[PLAN_OWN_LIMITS]], cost) then return nil end
    if theirs and not look(their_key, theirs, limits[plan[PLAN_THEIR_LIMITS]], cost) then return nil end
    if all and not look(plan[PLAN_ALL_KEY], all, limits[plan[PLAN_ALL_LIMITS]], cost) then return nil end
    plan, their_key = group and batch.plans[group[further]], group and group[further + 1]
    further = further + 2
  end

  local accepted = fits or is_forced
  records[1] = REPLY .. pack('>I6I6', sequence, now) .. (accepted and '1' or '0')
  local reply = table.concat(records)
  -- As in other batches, a Redis user without the right to SETRANGE must be found before the first write.
  if accepted then call('SETRANGE', KEYS[2], 0, '') end
  call('SET', KEYS[1], reply, 'PX', ARGV[2])
  for i = 1, accepted and #writes or 0, 3 do call('SETRANGE', writes[i], writes[i + 1], writes[i + 2]) end
  return reply
end

local settled = settle_one(ARGV[4])
if settled then return settled end
