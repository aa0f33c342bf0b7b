import { type Mutation, noticed, noticedIn } from './mutation.ts'

/** Mistakes with grants: what they pay is taken once, whole, instead of the windows, and comes back to the very one that paid. */

const LUA = 'src/store/redis/charge.lua'
const ONE_LUA = 'src/store/redis/charge-one.lua'
const CONTROL = 'src/store/redis/control.lua'
const EMPTYING = 'src/store/sqlite/emptying.ts'
const RECEIPT = 'src/quota/receipt.ts'
const ARITHMETIC = 'src/quota/arithmetic.ts'
const GRANT = 'src/quota/grant.ts'
const REFUSAL = 'src/quota/refusal.ts'
const STANDING = 'src/quota/standing.ts'
const GRANTS = 'src/control/grants.ts'

const lua = noticedIn(LUA, 'redis history', 'model', 'simulation')
const shared = noticed('history', 'model')

export const GRANT_MUTATIONS: readonly Mutation[] = [
  lua('a grant pays after its end', ['has_room and now < grant[5] then', 'has_room then']),
  lua('a grant pays although the windows have room', ['if not fits and has_room and', 'if has_room and']),
  lua('a grant pays more than it has', ['if not fits and has_room and', 'if not fits and']),
  lua('every grant with room pays', ['fits, firsts_of[many] = true, 1', 'firsts_of[many] = 1']),
  lua('the windows are charged beside the grant', [
    'firsts_of[windows] = shape.seconds[shape.windows] == BOOK and shape.windows or shape.windows + 1',
    'firsts_of[windows] = 1',
  ]),
  lua('the books have nothing of what a grant pays', [
    'firsts_of[windows] = shape.seconds[shape.windows] == BOOK and shape.windows or shape.windows + 1',
    'firsts_of[windows] = shape.windows + 1',
  ]),
  lua('a grant of a user pays for the organisation', [
    'if grant[2] == meter and grant[3] == scope then',
    'if grant[2] == meter then',
  ]),
  noticed('redis history', 'model', 'simulation')(ONE_LUA, 'one charge is settled without its grants', [
    ' or batch.uses or batch.grants then',
    ' or batch.uses then',
  ]),
  noticed('redis history')(CONTROL, 'a reset fills a grant again', [
    'or not category and byte(name) ~= GRANT_MARK',
    'or not category',
  ]),
  noticed('history')(EMPTYING, 'a reset of the embedded store fills a grant again', [
    '        if (isAccount(category)) continue\n',
    '',
  ]),
  shared(GRANT, 'a grant pays after its end, by the arithmetic', [
    'return at < until && used + cost <= limit',
    'return used + cost <= limit',
  ]),
  shared(ARITHMETIC, 'windows are charged beside the grant, by the arithmetic', [
    'payer ? firstPaidBeside(limits) : 0)\n    if',
    '0)\n    if',
  ]),
  shared(ARITHMETIC, 'nothing is taken from the grant that pays', [
    '    if (payer) add(cost, payer.counter, [payer.usage], [payer.grant], now)\n',
    '',
  ]),
  shared(RECEIPT, 'what a grant paid is not given back', [
    'if (grant === undefined || startedAt === 0) continue',
    'continue',
  ]),
  shared(RECEIPT, 'what a grant paid is given back to the windows', [
    'startedAt: i < first ? 0 : (usages[i]?.startedAt ?? 0)',
    'startedAt: usages[i]?.startedAt ?? 0',
  ]),
  noticed('history')(REFUSAL, 'a refusal names windows in whose place a grant pays', [
    "if (!hasPayer(paidBy, 'personal')) addOver",
    'addOver',
  ]),
  noticed('grants')(STANDING, 'a user with a grant counts as blocked', [
    'if (paying.length === 0) block = found',
    'if (paying.length >= 0) block = found',
  ]),
  noticed('grants')(GRANTS, 'the grant that ends last pays first', ['a.until - b.until ||', 'b.until - a.until ||']),
]
