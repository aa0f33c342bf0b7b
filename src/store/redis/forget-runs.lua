--[==[
  Deletes those runs of some owners that need not be kept any more, and lets their keys expire sooner if possible. This text follows common.lua,
  form/section.lua, form/windows.lua, forgotten.lua and history.lua.

  KEYS  for each owner the key of the counters and the key of the history
  ARGV  for each owner for how many seconds runs are kept after their end
]==]
local archive = history_functions()

for i, kept in ipairs(ARGV) do
  local counters, place, keep = KEYS[2 * i - 1], KEYS[2 * i], tonumber(kept)
  local bytes, before = call('MGET', counters)[1], archive.read(place)
  local left = archive.with_runs(before, {}, now, keep)
  if left == '' and before ~= '' then
    call('DEL', place)
  elseif left ~= before then
    call('SET', place, left, 'KEEPTTL')
  end
  if bytes and #bytes <= LONGEST then
    local lasts = select(2, tidy(bytes, 0)) + 1000 * keep - now
    for _, key in ipairs({ counters, place }) do
      if call('PTTL', key) > lasts then call('PEXPIRE', key, string.format('%.0f', lasts)) end
    end
  end
end
