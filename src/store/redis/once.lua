--[==[
  What is remembered of charges by a key, for charge.lua, which follows this text.

  The value under the key of a charge has these big-endian parts without gaps:
    since     when the charge was made, in milliseconds (6 bytes)
    start     the moment from which the time for free repetitions counts (6). It differs from `since` if the clock was ahead
    replays   how many repetitions were free (1)
    open      uses that have not reported their cost yet (1)
    paid      tokens that were paid for all uses together (6)
    dearest   tokens of the dearest use (6)
    length    of the hash of the body, plus 64 for each further meter (1)
    body      the hash
    meters    for each further meter open (1), paid (6) and dearest (6)
    receipt   its number of runs (1), their starts (6 each), and JSON that only the sender reads
]==]
-- Called for batches with such a charge only, because creating the functions costs time.
-- @param values  the values under each key of the batch
local function once_functions(values, now)
  -- Decoded values, `false` for nothing. `forgotten` is set on those to write.
  local known = {}

  local function remembered(key)
    local bytes = values[key]
    if known[key] == nil then
      known[key] = false
      if bytes and #bytes > 27 then
        local since, start, replays, open, paid, dearest, length = unpack_bytes('>I6I6BBI6I6B', bytes)
        local meters, others = { { open = open, paid = paid, dearest = dearest } }, math.floor(length / 64)
        length = length % 64
        local at = 28 + length
        for i = 1, #bytes >= at + 13 * others and others or 0 do
          open, paid, dearest, at = unpack_bytes('>BI6I6', bytes, at)
          meters[i + 1] = { open = open, paid = paid, dearest = dearest }
        end
        known[key] = {
          since = since, start = start, replays = replays, meters = meters, body = sub(bytes, 28, 27 + length),
          receipt = sub(bytes, at),
        }
      end
    end
    return known[key]
  end

  -- Returns the letter for a charge that its key decides, and for a repetition what pays for it. For a charge that is to be charged it returns
  -- nil, and then whether the charge is remembered. @param meters  in how many meters a repetition becomes an open use
  local function judge(once, meters)
    local key, body, lasts, replays, forgotten = once[2], once[3], once[4], once[5], once[6]
    local charged = remembered(key)
    -- A start in the future shows that the clock was ahead, so the time for free repetitions counts from now.
    if charged and charged.start > now then charged.start, charged.forgotten = now, now + forgotten end
    if not charged or now >= charged.start + lasts then return nil, true end
    if charged.body ~= body then return '3' end
    if charged.replays >= replays then return nil, false end
    charged.replays = charged.replays + 1
    for i, meter in ipairs(charged.meters) do
      if i <= meters then meter.open = meter.open + 1 end
    end
    charged.forgotten = charged.start + forgotten
    return '2', pack('>I6I2', charged.since, #charged.receipt) .. charged.receipt
  end

  -- Reports what one use cost in a meter. Returns the tokens to give back; a number below 0 is charged in addition.
  local function report(use)
    local key, first, since, forgotten, cost, reserve, unreached = use[1], use[2], use[3], use[4], use[5], use[6], use[7]
    local charged = remembered(key)
    if not charged or charged.since ~= since then
      if first == 1 and use[11] == 1 then
        known[key] = {
          since = since, start = since, replays = 0, meters = { { open = 0, paid = cost, dearest = cost } }, body = '',
          receipt = '\0["",null,[],[],[]]', forgotten = since + forgotten,
        }
      end
      return first == 1 and reserve - cost or 0
    end
    local meter = charged.meters[use[10] + 1]
    -- Either the charge had fewer meters than its repetition, or this use has already reported.
    if not meter or meter.open == 0 then return 0 end
    local before = meter.paid
    meter.dearest, meter.open = math.max(meter.dearest, cost), meter.open - 1
    meter.paid = meter.open > 0 and math.max(before, meter.dearest) or meter.dearest
    charged.forgotten = charged.start + forgotten
    if unreached == 1 and first == 0 and use[10] == 0 then charged.replays = charged.replays - 1 end
    local is_free = true
    for _, each in ipairs(charged.meters) do is_free = is_free and each.open == 0 and each.dearest == 0 end
    if is_free then known[key] = false end
    return before - meter.paid
  end

  -- Remembers the charge at `now`. @param costs  of its meters  @param starts  of the runs in which it was counted
  local function remember(once, costs, starts)
    local receipt, meters = char(#starts) .. pack('>' .. rep('I6', #starts), unpack(starts)) .. once[7], {}
    for i, cost in ipairs(costs) do meters[i] = { open = 1, paid = cost, dearest = 0 } end
    known[once[2]] = {
      since = now, start = now, replays = 0, meters = meters, body = once[3], receipt = receipt, forgotten = now + once[6],
    }
  end

  local function write(names)
    for key, charged in pairs(known) do
      if not charged then
        -- This has the effect of DEL, but needs only the right to SET, which the user of Redis has anyway.
        if values[key] then call('SET', names[key], '', 'PX', 1) end
      elseif charged.forgotten then
        local first, others = charged.meters[1], {}
        for i = 2, #charged.meters do
          local meter = charged.meters[i]
          others[i - 1] = pack('>BI6I6', meter.open, meter.paid, meter.dearest)
        end
        local value = pack('>I6I6BBI6I6B', charged.since, charged.start, charged.replays, first.open, first.paid,
          first.dearest, #charged.body + 64 * #others) .. charged.body .. table.concat(others) .. charged.receipt
        call('SET', names[key], value, 'PXAT', string.format('%.0f', charged.forgotten))
      end
    end
  end

  return { judge = judge, report = report, remember = remember, write = write }
end
