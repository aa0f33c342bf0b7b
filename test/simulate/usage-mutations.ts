import { type Mutation, noticed } from './mutation.ts'

/** Mistakes in what is kept of usage: histories, series and refusals, and in the overrides of organisations. */

const LUA = 'src/store/redis/charge.lua'
const HISTORY_LUA = 'src/store/redis/history.lua'
const CONTROL_LUA = 'src/store/redis/control.lua'
const FLUSH_LUA = 'src/store/redis/flush.lua'
const BATCH = 'src/store/redis/charge-batch.ts'
const READ = 'src/store/redis/history.ts'
const RULES = 'src/quota/history.ts'
const ARITHMETIC = 'src/quota/arithmetic.ts'
const PACKED = 'src/store/packed-history.ts'
const COUNTERS = 'src/store/sqlite/counters.ts'
const ROWS = 'src/store/sqlite/history-rows.ts'
const ROWS_OF_HISTORY = 'src/store/sqlite/history.ts'
const FORGET_LUA = 'src/store/redis/forget-runs.lua'
const KEPT = 'src/quota/kept.ts'
const SQLITE_CONTROL = 'src/store/sqlite/emptying.ts'
const SQLITE_LOG = 'src/store/sqlite/usage-log.ts'
const SWEEPER = 'src/store/sqlite/sweeper.ts'
const REDIS_LOG = 'src/store/redis/usage-log.ts'
const RECORDER = 'src/usage/recorder.ts'
const HALF_HOURS = 'src/usage/half-hours.ts'
const SERIES = 'src/usage/series.ts'
const USAGE_READING = 'src/usage/usage-reading.ts'
const EPISODES = 'src/usage/episodes.ts'
const POLICY = 'src/quota/policy.ts'
const OVERRIDES = 'src/quota/override-limits.ts'

const history = noticed('history')
const redisHistory = noticed('redis history', 'simulation')
const series = noticed('series')
const recorder = noticed('recorder')
const days = noticed('simulation', 'bills')
const override = noticed('overrides')

export const USAGE_MUTATIONS: readonly Mutation[] = [
  // Histories, in Redis.
  redisHistory(LUA, 'the script archives no run', [
    'local ended = former and archive().ended_runs(former, values[key], now, keep, shorter)',
    'local ended = nil',
  ]),
  redisHistory(LUA, 'the script archives the counter as it is, not as it was', [
    'local former = found[key] or ',
    'local former = found[key] and bytes or ',
  ]),
  redisHistory(LUA, 'the script does not look for ended runs where a start was replaced', [
    'if replaced then found[key]',
    'if false then found[key]',
  ]),
  redisHistory(LUA, 'the script does not look for ended runs where a section was left out', [
    ' or #values[key] < #bytes and bytes\n',
    '\n',
  ]),
  redisHistory(LUA, 'the script does not look for ended runs where a section was built anew', [
    'if replaced then found[key]',
    "if replaced and find(values[key] or '', shape) then found[key]",
  ]),
  redisHistory(LUA, 'the script archives each counter twice', [
    'with_runs(history_of(key), ended, now, math.max(keep, shorter)), ends[key]',
    'with_runs(archive().with_runs(history_of(key), ended, now, keep), archive().ended_runs(former, values[key], now, keep, shorter) or {}, now, keep), ends[key]',
  ]),
  redisHistory(HISTORY_LUA, 'the script archives a run that goes on', [
    ' and not (starts[name] and starts[name][seconds] == started)',
    '',
  ]),
  redisHistory(HISTORY_LUA, 'the script archives a run that was set to another start', [' and started <= latest', '']),
  redisHistory(HISTORY_LUA, 'the script takes the windows of all categories for one', [
    'local of = starts[name] or {}',
    'local _, of = next(starts)\n      of = of or {}',
  ]),
  redisHistory(HISTORY_LUA, 'the script puts the windows of a category into one section', [
    "return char(#category) .. category .. pack('>I4', seconds) end",
    "return char(#category) .. category .. pack('>I4', seconds > 3600 and 18000 or 3600) end",
  ]),
  redisHistory(LUA, 'the script forgets what is given back to an archived run', [
    'for r = 4, keep and #refund or 0, 2 do',
    'for r = 4, 0, 2 do',
  ]),
  redisHistory(LUA, 'the script does not write what it gave back to an archived run', [
    'rewritten[key] = rewritten[key] or histories[key] ~= before',
    '',
  ]),
  redisHistory(LUA, 'the script gives back to a run that is over nowhere', [
    'and (keep or now < started + seconds * 1000) then',
    'and now < started + seconds * 1000 then',
  ]),
  redisHistory(LUA, 'the script gives back in the counter and in the history', [
    'local before = not given[r] and refund',
    'local before = refund',
  ]),
  redisHistory(LUA, 'the script gives back to the last archived run of a window', [
    'with_less(before, category, refund[r], refund[r + 1], amount)',
    'with_less(before, category, refund[r], refund[4 + 1], amount)',
  ]),
  redisHistory(HISTORY_LUA, 'the script gives back at bytes that look like a start', [
    'if (found - first) % RUN == 0 then',
    'if true then',
  ]),
  redisHistory(HISTORY_LUA, 'the script gives an archived run back in the section of another window', [
    'local found = head == wanted and string.find',
    'local found = string.find',
  ]),
  redisHistory(HISTORY_LUA, 'the script lets an archived run fall below 0', ['math.max(0, tokens)', 'tokens % 2 ^ 47']),
  redisHistory(HISTORY_LUA, 'the script drops the oldest archived run each time', [
    'if not is_over and not is_too_many then break end\n      first = first + RUN',
    'if not is_over and not is_too_many and not is_added then break end\n    first = first + RUN\n    is_added = false',
  ]),
  redisHistory(HISTORY_LUA, 'the script drops an archived run a window too early', [
    "local lasts = (unpack_bytes('>I4', head, #head - 3) + keep) * 1000",
    'local lasts = keep * 1000',
  ]),
  redisHistory(HISTORY_LUA, 'the script drops nothing that need not be kept', [
    "local is_over = unpack_bytes('>I6', bytes, first) + lasts <= now",
    'local is_over = false',
  ]),
  redisHistory(HISTORY_LUA, 'the script keeps any number of runs', [
    '((next_at - first) / RUN >= MOST_RUNS or length > LONGEST_HISTORY)',
    'false',
  ]),
  redisHistory(HISTORY_LUA, 'the script keeps shorter windows as long as the longest', [
    '(seconds == BOOK or seconds == longest[name]) and keep or shorter',
    'keep',
  ]),
  redisHistory(HISTORY_LUA, 'the script leaves two runs of one start apart', [
    'if sub(runs, -RUN, -7) ~= sub(run, 1, 6) then return runs .. run end',
    'if true then return runs .. run end',
  ]),
  redisHistory(HISTORY_LUA, 'of two runs of one start the script keeps the second', [
    "unpack_bytes('>I6', runs, #runs - 5) + unpack_bytes",
    'unpack_bytes',
  ]),
  redisHistory(HISTORY_LUA, 'the script archives runs of organisations with users of their name', [
    "['o:'] = 'ho:'",
    "['o:'] = 'h:'",
  ]),
  redisHistory(HISTORY_LUA, 'the script archives no runs of organisations', [", ['o:'] = 'ho:'", '']),
  redisHistory(HISTORY_LUA, 'the script keeps a history of everybody', [
    "['o:'] = 'ho:' }",
    "['o:'] = 'ho:', ['al'] = 'ho:' }",
  ]),
  redisHistory(LUA, 'the script keeps callers whose key nobody checked as long as others', [
    'if anonymous[key] then keep, shorter = kept[4], kept[4] end',
    '',
  ]),
  redisHistory(LUA, 'the script lets a counter end with its last run, before that is archived', [
    'ends[key] = math.max(ends[key], now) + 1000 * math.max(keep, shorter)',
    '',
  ]),
  redisHistory(LUA, 'the script lets a history end with the last run of its counter', [
    "call('SET', place, bytes, 'PXAT', string.format('%.0f', ended_at[key]))",
    "call('SET', place, bytes, 'PXAT', string.format('%.0f', ended_at[key] - 1000 * kept[2]))",
  ]),
  redisHistory(CONTROL_LUA, 'a reset in Redis loses the runs that it ends', [
    'history = prefix and archive.key(KEYS[place], prefix)',
    'history = nil',
  ]),
  redisHistory(CONTROL_LUA, 'a reset in Redis replaces the history', [
    'archive.with_runs(known, ended, tonumber(now)',
    "archive.with_runs('', ended, tonumber(now)",
  ]),
  redisHistory(BATCH, 'a batch does not say whose runs are not kept', ['this.#anonymous.push(position)', '{}']),
  redisHistory(READ, 'the runs of a counter in Redis are left out', [
    '(visit) => eachWindow(counters, visit)',
    '(visit) => eachWindow(null, visit)',
  ]),
  redisHistory(READ, 'an organisation has the history of the user of its name', [
    "return scope === 'personal' ? keys.history(id) : keys.organisationHistory(id)",
    'return scope ? keys.history(id) : keys.organisationHistory(id)',
  ]),
  redisHistory(READ, 'a step through all histories reads the first of its users only', [
    'i < all.length; i += MOST_READS) parts',
    'i < Math.min(1, all.length); i += MOST_READS) parts',
  ]),
  // Histories, by the rules that the embedded store follows.
  history(RULES, 'a run that goes on is archived', ['startedAt > latest || goesOn', 'startedAt > latest']),
  history(RULES, 'a run that was set to another start is archived', [' || startedAt > latest || goesOn', ' || goesOn']),
  history(RULES, 'shorter windows are kept as long as the longest', [
    'seconds === longest ? kept.longestSeconds : kept.shorterSeconds',
    'seconds <= longest ? kept.longestSeconds : kept.shorterSeconds',
  ]),
  history(RULES, 'everybody is kept who has an id', [
    "scope === 'personal' && retention.isAnonymous(id)",
    "scope === 'personal' && false",
  ]),
  history(ARITHMETIC, 'what is given back to an archived run is forgotten', [
    'giveBack(refund, amountMade(refund, onces), counterOf, takeBackEnded)\n  const',
    'giveBack(refund, amountMade(refund, onces), counterOf, () => {})\n  const',
  ]),
  history(COUNTERS, 'the embedded store archives no run', [
    'histories.add(scope, id, category, endedRuns(unpack(refunded), left, kept, now), kept, now)',
    '',
  ]),
  history(COUNTERS, 'the embedded store archives each run twice', [
    'endedRuns(unpack(refunded), left, kept, now), kept, now)',
    'endedRuns(unpack(refunded), left, kept, now).map((run) => ({ ...run, used: 2 * run.used })), kept, now)',
  ]),
  history(COUNTERS, 'the embedded store archives a run without what was given back in its last batch', [
    'touched.keepRefunded()\n    const',
    'const',
  ]),
  history(COUNTERS, 'the embedded store empties a counter of which nothing runs', [
    'isOver && kept !== null ? counter : running(counter, now)',
    'running(counter, now)',
  ]),
  history(COUNTERS, 'the embedded store writes no history', ['    histories.writeBack()\n', '']),
  history(SQLITE_CONTROL, 'a reset of a user loses the runs that it ends', [
    'histories.add(scope, id, category, endedRuns(counter, left, kept), kept, now)',
    "if (scope !== 'personal') histories.add(scope, id, category, endedRuns(counter, left, kept), kept, now)",
  ]),
  history(SQLITE_CONTROL, 'a reset of an organisation loses the runs that it ends', [
    'histories.add(scope, id, category, endedRuns(counter, left, kept), kept, now)',
    "if (scope === 'personal') histories.add(scope, id, category, endedRuns(counter, left, kept), kept, now)",
  ]),
  history(ROWS, 'the embedded store archives runs of organisations with users of their name', [
    'const one = of(scope, id)\n        one.runs',
    "const one = of('personal', id)\n        one.runs",
  ]),
  history(ROWS, 'the embedded store gives archived runs of organisations back to users of their name', [
    'const one = of(scope, id)\n        if (takeBackRun',
    "const one = of('personal', id)\n        if (takeBackRun",
  ]),
  history(PACKED, 'a packed run is kept a window too short', [
    'return startedAt + (seconds + keptSeconds) * 1000',
    'return startedAt + (keptSeconds + 0 * seconds) * 1000',
  ]),
  history(PACKED, 'a packed history keeps any number of runs', ['(end - from) / RUN >= MOST_RUNS || length', 'length']),
  history(PACKED, 'a packed history is never trimmed by time', [
    'endOf(bytes.readUIntBE(from, 6), kept) <= now || (run',
    '(run',
  ]),
  history(PACKED, 'of two packed runs of one start the second is kept', [
    'bytes.writeUIntBE(Math.min(MOST_TOKENS, before.readUIntBE(last + 6, 6) + used)',
    'bytes.writeUIntBE(Math.min(MOST_TOKENS, used)',
  ]),
  history(PACKED, 'what is given back to a packed run is given in the first of its window', [
    'if (bytes.readUIntBE(run, 6) !== startedAt) continue\n',
    '',
  ]),
  history(PACKED, 'what is given back to a packed run is given in any window', [
    'if (s.category !== category || s.seconds !== seconds) continue',
    'if (s.category !== category) continue',
  ]),
  history(PACKED, 'a packed history has a moment too much', ['startedAt >= to) continue', 'startedAt > to) continue']),
  {
    name: 'the embedded store sweeps histories that are to be kept',
    edits: [{ file: SWEEPER, from: 'history WHERE ends <= ?', to: 'history WHERE ends >= ?' }],
    noticedBy: ['sqlite'],
  },
  history(PACKED, 'a packed history shows what need not be kept any more', [
    'Math.min(keptSeconds, mostSeconds)) * 1000 + 1',
    'keptSeconds) * 1000 + 1',
  ]),
  history(ROWS_OF_HISTORY, 'the embedded store never forgets that it has to take runs away', [
    "'DELETE FROM kept WHERE name = ?', UNSWEPT)",
    "'DELETE FROM kept WHERE name = ?', String(UNSWEPT === null))",
  ]),
  redisHistory(FORGET_LUA, 'Redis takes no run away that need not be kept any more', [
    'archive.with_runs(before, {}, now, keep)',
    'archive.with_runs(before, {}, now, 10 ^ 9)',
  ]),
  redisHistory(FORGET_LUA, 'Redis keeps the counters of somebody who is charged no more', [
    "if call('PTTL', key) > lasts then",
    'if false then',
  ]),
  {
    name: 'what was kept for a shorter time is forgotten when the time is made longer',
    edits: [{ file: KEPT, from: 'Math.min(kept, state.leastSeconds)', to: 'kept' }],
    noticedBy: ['bills'],
  },
  // Series and refusals.
  series(FLUSH_LUA, 'the flush is added each time it is sent', [
    "if sequence <= (tonumber(redis.call('GET', KEYS[1]) or '0') or 0) then return now end",
    '',
  ]),
  series(FLUSH_LUA, 'the flush of another number alone is added twice', ['if sequence <= (', 'if sequence == (']),
  series(FLUSH_LUA, 'the flush does not remember its number', [
    "redis.call('SET', KEYS[1], ARGV[1], 'PX', remember)",
    '',
  ]),
  series(FLUSH_LUA, 'the flush replaces what was counted', ['or numbers(known or', 'or numbers(false and known or']),
  series(FLUSH_LUA, 'a hash of routes grows without a bound', ['if names[key] >= bound then', 'if false then']),
  series(FLUSH_LUA, 'names of one flush do not count for the bound', ['names[key] = names[key] + 1', '']),
  series(FLUSH_LUA, 'a bound holds for names that are known', ['if not known and bound > 0', 'if bound > 0']),
  series(FLUSH_LUA, 'a half hour is taken that is far ahead', [' and start < now + DAY and', ' and']),
  series(FLUSH_LUA, 'a day is kept as long as a half hour', [
    'is_day == 1 and keep_days or keep_series',
    'keep_series',
  ]),
  series(FLUSH_LUA, 'a refusal that comes again replaces the count', ['old.count + new.count', 'new.count']),
  series(FLUSH_LUA, 'a refusal begins with the last flush', ['math.min(old.first, new.first)', 'new.first']),
  series(FLUSH_LUA, 'a refusal has the limit that was sent last', ['old.last > new.last and old or new', 'new']),
  series(FLUSH_LUA, 'a refusal names any number of routes', [' and #old.routes < most_routes then', ' then']),
  series(FLUSH_LUA, 'refusals are never forgotten', ['if #gone > 0 then', 'if false then']),
  series(FLUSH_LUA, 'refusals above the bound stay', ['if #gone >= excess and', 'if']),
  series(REDIS_LOG, 'the half hours of all kinds lie under one key', [
    'const name = keys.series(by, start, zone)',
    "const name = keys.series(by && 'all', start, zone)",
  ]),
  series(SQLITE_LOG, 'the embedded store adds a flush each time', [
    'if (last !== undefined && sequence <= Number(last.text)) return',
    '',
  ]),
  series(SQLITE_LOG, 'the embedded store adds a flush that was overtaken', [
    'sequence <= Number(last.text)',
    'sequence === Number(last.text)',
  ]),
  series(SQLITE_LOG, 'the embedded store lets routes grow without a bound', [
    'if (isNew && namesOf(by, start, zone) >= 2 * MOST_ROUTES) {',
    'if (isNew && false) {',
  ]),
  series(SQLITE_LOG, 'the embedded store bounds categories', [" && by === 'route' &&", ' &&']),
  series(SQLITE_LOG, 'the embedded store keeps refusals above the bound', [
    'if (all > MOST_EPISODES) file',
    'if (all < 0) file',
  ]),
  series(SQLITE_LOG, 'the embedded store forgets the newest refusals', [
    'ORDER BY last, id LIMIT',
    'ORDER BY last DESC, id LIMIT',
  ]),
  series(EPISODES, 'a refusal that comes again counts once', [
    'count: known.count + change.count',
    'count: change.count',
  ]),
  series(SERIES, 'tokens below 0 are lost', ['match(/-?\\d+/g)', 'match(/\\d+/g)']),
  recorder(RECORDER, 'a flush that failed is forgotten', [
    '          return failed(error)',
    '          unsent.shift()\n          return failed(error)',
  ]),
  recorder(RECORDER, 'a flush that failed is sent under another number', [
    'await store.addUsage(flush)',
    'await store.addUsage({ ...flush, sequence: ++sequence })',
  ]),
  recorder(RECORDER, 'what is left at the end is not sent', [
    '    const until = now() + graceMs\n    await send(true)',
    '    const until = 0\n',
  ]),
  recorder(RECORDER, 'a flush has any number of entries', ['i += MOST_ENTRIES) {', 'i += 1e9) {']),
  recorder(HALF_HOURS, 'what is given back counts nowhere', [
    'sums.tokens += tokens',
    'sums.tokens += Math.max(0, tokens)',
  ]),
  recorder(HALF_HOURS, 'what is given back counts in the half hour of now', [
    'sumsOf(at(chargedAt), route',
    'sumsOf(at(tokens < 0 ? storeTime() : chargedAt), route',
  ]),
  recorder(HALF_HOURS, 'what is charged in addition is another charge', [
    "if (kind === 'charged') sums.accepted++",
    'if (tokens > 0) sums.accepted++',
  ]),
  recorder(HALF_HOURS, 'every route has a series of its own', [
    'if (ranks.size <= MOST_ROUTES) return null',
    'return null',
  ]),
  recorder(HALF_HOURS, 'a day begins with a half hour', ['until: Math.min(half.until, to)', 'until: half.until']),
  days(HALF_HOURS, 'the days of a series begin with its half hours', [
    'const day = { zone: days.zone, start: from }',
    'const day = { zone: days.zone, start }',
  ]),
  days(REDIS_LOG, 'days of a series are read as half hours', ['zone: days?.zone ?? null })', 'zone: null })']),
  days(USAGE_READING, 'the last day of a series is in no bill', [
    'const asked = { by, from, to, name',
    'const asked = { by, from, to: to - 86_400_000, name',
  ]),
  recorder(HALF_HOURS, 'what was counted is taken twice', ['    halves.clear()\n', '']),
  // What was set for an organisation.
  override(POLICY, 'an override of an organisation is ignored', [
    'if (override === undefined) return limits\n    const make',
    'return limits\n    const make',
  ]),
  override(POLICY, 'an override of one organisation holds for all', [
    'const override = organisations.get(organisation)',
    "const override = organisations.get(organisation) ?? organisations.get('acme')",
  ]),
  override(POLICY, 'an override of a user takes that of his organisation away', [
    'ofUser(limits, override, category, settings.windows)',
    'ofUser(standing.known, override, category, settings.windows)',
  ]),
  override(POLICY, 'the override of an organisation is remembered for the next one', [
    'return own.organisations(limits, organisation, make)',
    "return own.organisations(limits, '', make)",
  ]),
  override(POLICY, 'nobody is asked for his organisation without plans', [
    '(plans?.size ?? 0) > 0 || limitsOrganisations',
    '(plans?.size ?? 0) > 0',
  ]),
  override(POLICY, 'an override of an organisation is explained as its plan', [
    "scope === 'organisation' ? ofTheirs : undefined",
    "scope === 'organisation' ? undefined : ofTheirs",
  ]),
  override(OVERRIDES, 'an override of an organisation replaces personal limits', [
    'limits : { ...limits, organisation }',
    'limits : { ...limits, organisation, personal: organisation }',
  ]),
  override(OVERRIDES, 'an override of an organisation does not reach windows that no plan limits', [
    'withOwn(ofPlan, override, category, windows)',
    'withOwn(ofPlan, override, category, ofPlan.map(({ window }) => window))',
  ]),
  override(OVERRIDES, 'an override of an organisation takes the limits of the plan away in other windows', [
    'return planned === undefined ? [] : [planned]',
    'return []',
  ]),
]
