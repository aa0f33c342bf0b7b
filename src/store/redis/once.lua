--[==[
  What is remembered of charges by a key, for charge-one.lua and charge.lua, which this text goes before.

  What lies under the key of a charge is its time and the start of its time (6 bytes each), repetitions and open uses (1 each), the
  tokens paid and those of the dearest use (6 each), the length of the hash of the body (1), that hash, and the receipt: its number of
  runs (1), their starts (6 each) and what else it says, which is the sender's; big-endian.
]==]
-- Made for batches that have such a charge.
-- @param values  what lies under each key of the batch
local function once_functions(values, now)
  -- As tables, `false` for nothing; `forgotten` where it is to be written.
  local known = {}

  local function remembered(key)
    local bytes = values[key]
    if known[key] == nil then
      known[key] = false
      if bytes and #bytes > 27 then
        local since, start, replays, open, paid, dearest, length = unpack_bytes('>I6I6BBI6I6B', bytes)
        known[key] = {
          since = since, start = start, replays = replays, open = open, paid = paid, dearest = dearest,
          body = sub(bytes, 28, 27 + length), receipt = sub(bytes, 28 + length),
        }
      end
    end
    return known[key]
  end

  -- The letter of a charge that its key decides, and what pays for a repetition; nothing for one that is charged, and remembered with
  -- `true` behind it.
  local function judge(once)
    local key, body, lasts, replays, forgotten = once[2], once[3], once[4], once[5], once[6]
    local charged = remembered(key)
    -- The clock was ahead: the charge counts as made now.
    if charged and charged.start > now then charged.start, charged.forgotten = now, now + forgotten end
    if not charged or now >= charged.start + lasts then return nil, true end
    if charged.body ~= body then return '3' end
    if charged.replays >= replays then return nil, false end
    charged.replays, charged.open = charged.replays + 1, charged.open + 1
    charged.forgotten = charged.start + forgotten
    return '2', pack('>I6I2', charged.since, #charged.receipt) .. charged.receipt
  end

  -- What one use cost. Returns the tokens of the charge that are given back; below 0, that are charged in addition.
  local function report(use)
    local key, first, since, forgotten, cost, reserve, unreached = use[1], use[2], use[3], use[4], use[5], use[6], use[7]
    local charged = remembered(key)
    if not charged or charged.since ~= since then return first == 1 and reserve - cost or 0 end
    local before = charged.paid
    charged.dearest = math.max(charged.dearest, cost)
    charged.open, charged.forgotten = charged.open - 1, charged.start + forgotten
    charged.paid = charged.open > 0 and math.max(before, charged.dearest) or charged.dearest
    if unreached == 1 and first == 0 then charged.replays = charged.replays - 1 end
    if charged.open == 0 and charged.dearest == 0 then known[key] = false end
    return before - charged.paid
  end

  -- The charge of now. @param starts  of the runs that it was counted in
  local function remember(once, cost, starts)
    local receipt = char(#starts) .. pack('>' .. rep('I6', #starts), unpack(starts)) .. once[7]
    known[once[2]] = {
      since = now, start = now, replays = 0, open = 1, paid = cost, dearest = 0, body = once[3], receipt = receipt,
      forgotten = now + once[6],
    }
  end

  local function write(names)
    for key, charged in pairs(known) do
      if not charged then
        -- As good as DEL, and whoever may write the rest may do it.
        if values[key] then call('SET', names[key], '', 'PX', 1) end
      elseif charged.forgotten then
        local value = pack('>I6I6BBI6I6B', charged.since, charged.start, charged.replays, charged.open, charged.paid,
          charged.dearest, #charged.body) .. charged.body .. charged.receipt
        call('SET', names[key], value, 'PXAT', string.format('%.0f', charged.forgotten))
      end
    end
  end

  return { judge = judge, report = report, remember = remember, write = write }
end
