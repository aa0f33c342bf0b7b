import { type Mutation, noticed, noticedIn } from './mutation.ts'

/**
 * Mistakes in what is told of a charge afterwards: what a store has forgotten, what is void because of that, what a repetition was charged
 * for, what `settled` reports, and the bills.
 */

const LOSSES = 'src/quota/ledger/losses.ts'
const SETTLEMENT = 'src/quota/ledger/settlement.ts'
const REFUNDS = 'src/quota/ledger/refunds.ts'
const REPORT = 'src/gateway/settlement.ts'
const RECEIPT = 'src/quota/receipt.ts'
const ONCE_LUA = 'src/store/redis/once.lua'
const CHARGE_LUA = 'src/store/redis/charge.lua'
const BATCH = 'src/store/redis/charge-batch.ts'
const REPLY = 'src/store/redis/charge-reply.ts'
const QUERY = 'src/usage/usage-query.ts'
const ROWS = 'src/usage/usage-rows.ts'
const OWNER = 'src/store/owner-history.ts'
const HISTORY = 'src/store/redis/history.ts'

const ledger = noticed('losses', 'simulation', 'ledger')
const receipt = noticed('simulation')
const report = noticedIn(REPORT, 'simulation')
const bill = noticed('simulation', 'bills')

export const SETTLED_MUTATIONS: readonly Mutation[] = [
  // Losses.
  ledger(LOSSES, 'the last batch that the store knows counts as lost', ['batch > after &&', 'batch >= after &&']),
  ledger(LOSSES, 'the last lost batch does not count as lost', ['&& batch <= last)', '&& batch < last)']),
  ledger(LOSSES, 'only the newest loss is known', [
    'this.#gaps.push({ after, last })',
    'this.#gaps.splice(0, 1, { after, last })',
  ]),
  ledger(LOSSES, 'a loss has the tokens of a batch that the store knows', ['last > after)', 'last >= after)']),
  ledger(LOSSES, 'a loss is told once more with the next one', ['entries.splice(first)', 'entries.slice(first)']),
  ledger(LOSSES, 'a loss has only what is known batch by batch', ['...takenAfter(this.#seconds, after), ', '']),
  ledger(LOSSES, 'a second has the tokens of its last batch', [
    'newest.tokens += batch.tokens',
    'newest.tokens = batch.tokens',
  ]),
  ledger(LOSSES, 'seconds are one whose clock was set back', [' && batch.at >= newest.at', '']),
  ledger(SETTLEMENT, 'what a repetition did not cost counts as lost', [
    "if (!decision.accepted || decision.once?.kind === 'replayed') continue",
    'if (!decision.accepted) continue',
  ]),
  ledger(SETTLEMENT, 'what was refused counts as lost', [
    "if (!decision.accepted || decision.once?.kind === 'replayed') continue",
    "if (decision.once?.kind === 'replayed') continue",
  ]),
  ledger(SETTLEMENT, 'what paid a debt does not count as lost', [
    'const charge = debts[i] ?? sent[i - debts.length]?.charge',
    'const charge = sent[i - debts.length]?.charge',
  ]),
  ledger(SETTLEMENT, 'a decision does not know its batch', ['decision.batch = this.#sequence', '']),
  ledger(SETTLEMENT, 'the store is not told what it has settled', [
    'now() - this.#settledAt < rememberMs ? this.#settled : 0',
    '0',
  ]),
  ledger(SETTLEMENT, 'a store that may have forgotten a batch is told of it', [
    'now() - this.#settledAt < rememberMs ? this.#settled : 0',
    'this.#settled',
  ]),
  // Void refunds.
  ledger(REFUNDS, 'a refund of a forgotten charge is made', [
    'if (this.#options.losses.has(refund.decision)) this.#reportVoid([refund])',
    'if (false) this.#reportVoid([refund])',
  ]),
  ledger(REFUNDS, 'a refund that waits is made although its charge is forgotten', [
    'this.#waiting = this.#waiting.filter((refund) => !isLost(refund))',
    '',
  ]),
  ledger(REFUNDS, 'a refund under way is made although its charge is forgotten', [
    'this.#sent = this.#sent.filter((refund) => !isLost(refund))',
    '',
  ]),
  ledger(REFUNDS, 'all refunds are void when one is', ['.filter(isLost))', ')']),
  ledger(REFUNDS, 'a void refund is reported as made', ['refund.onMade?.(0)', 'refund.onMade?.(amountOf(refund))']),
  ledger(REFUNDS, 'nobody hears of a void refund', ['refund.onMade?.(0)', '']),
  ledger(REFUNDS, 'what was admitted alone is given back although its payment is forgotten', [
    'if (inStore.some(({ decision }) => this.#options.losses.has(decision))) {',
    'if (false) {',
  ]),
  ledger(SETTLEMENT, 'refunds of forgotten charges stay in the batch that is sent again', [
    'return { ...batch, after, refunds: this.#refunds.sent }',
    'return { ...batch, after }',
  ]),
  // Receipts.
  receipt(RECEIPT, 'what a repetition gives back is taken from where it would count itself', [
    "once?.kind === 'replayed' ? meterIn(once.receipt, refund.meter) : receiptOf(charge, decision)",
    'receiptOf(charge, decision)',
  ]),
  receipt(BATCH, 'a receipt has the category of everybody', [
    'return [category, counted.org',
    "return ['read', counted.org",
  ]),
  receipt(BATCH, 'a receipt names no organisation', [
    'counted.organisation.length === 0 ? null : organisation, ...lengths',
    'null, ...lengths',
  ]),
  receipt(CHARGE_LUA, 'a receipt has no start of a window that the charge starts', [
    'and 0 or section[i] == 0 and now or section[i]',
    'and 0 or section[i]',
  ]),
  receipt(CHARGE_LUA, 'a receipt leaves everybody out', [
    'starts_of(everybody, all, starts)',
    'starts_of(everybody, nil, starts)',
  ]),
  receipt(ONCE_LUA, 'a repetition is told the time of the latest look', [
    'charged.since, #charged.receipt) .. charged.receipt',
    'charged.start, #charged.receipt) .. charged.receipt',
  ]),
  receipt(REPLY, 'the runs of a receipt are those of the window before', [
    'const startedAt = read48(bytes, at - 6)',
    'const startedAt = read48(bytes, Math.max(1, at - 12))',
  ]),
  // What `settled` reports.
  report('a correction is reported as it was asked for', [
    'settled(observe, { ...outcome, tokens: 0 - tokens })',
    'settled(observe, { ...outcome, tokens: 0 - (amount ?? charge.cost) })',
  ]),
  report('a correction is reported the other way round', ['tokens: 0 - tokens }', 'tokens }']),
  report('a correction is not reported', ['settled(observe, { ...outcome, tokens: 0 - tokens })', '']),
  report('a repetition is reported as a charge', [
    "decision.once?.kind === 'replayed' ? 'repeated' : 'charged'",
    "'charged'",
  ]),
  report('what was not taken is reported as taken', ["kind === 'charged' ? charge.cost : 0", 'charge.cost']),
  report('what is let through in shadow is reported as refused', [
    "isLetThrough ? 'shadowed' : 'refused'",
    "'refused'",
  ]),
  report('an outcome is reported twice', [
    'if (outcome.charge.others === undefined) observe(outcome)\n',
    'if (outcome.charge.others === undefined) observe(outcome)\n  if (outcome.charge.others === undefined) observe(outcome)\n',
  ]),
  report('a use of a key that cost what was reserved is not reported to the store', [
    'if (amount === 0 && !isKeyed) {',
    'if (amount === 0) {',
  ]),
  report('a request that reached nobody counts as one of the repetitions', [
    'refund(charging, paid, i, undefined,',
    'refund(charging, paid, i, paid.charge.cost,',
  ]),
  report('a correction gives back what the request cost', ['charge.cost - tokens,', 'tokens,']),
  // Bills.
  bill(QUERY, 'a bill has the days of UTC', ['firstMomentOf(date, zone)', 'date']),
  bill(QUERY, 'a bill of days of which nothing is known is complete', [
    'else if (from < counted) gaps',
    'else if (false) gaps',
  ]),
  bill(QUERY, 'a bill of a first day that is known is not complete', ['from < counted) gaps', 'from <= counted) gaps']),
  bill(OWNER, 'a bill lacks the day that the counter holds', ['if (startedAt >= oldest) visit(', 'if (false) visit(']),
  bill(OWNER, 'a bill lacks the days that are over', ['if (runs !== null) eachPackedRun', 'if (false) eachPackedRun']),
  bill(HISTORY, 'the bill of organisations is that of users', [
    "scope === 'personal' ? keys.history(id) : keys.organisationHistory(id)",
    'keys.history(id)',
  ]),
  bill(ROWS, 'the row of a category has what was used in another', [
    'if (last?.category !== category) last',
    'if (last === undefined) last',
  ]),
  bill(ROWS, 'the bill of a day has a row of the day after it', [
    'return (moment) => periodIn(query, days, moment)',
    'return (moment) => periodIn(query, days, periodIn(query, days, moment).end)',
  ]),
]
