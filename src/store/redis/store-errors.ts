import { messageOf } from '../../errors.ts'
import { LostCharges, StaleBatch, StoreError, type StoreFailure } from '../../quota/quota-store.ts'

interface Kind {
  readonly reason: StoreFailure
  /** What the operator can do. */
  readonly cure?: string
}

const LOGIN: Kind = { reason: 'auth', cure: 'set the user and the password of the URL under store' }
const FORBIDDEN: Kind = {
  reason: 'auth',
  cure: 'let its user run scripts, and every command on the keys of the prefix (ACL SETUSER)',
}
const DATABASE: Kind = {
  reason: 'auth',
  cure: 'name a database that is there at the end of the URL under store, and let its user run SELECT',
}
const CLUSTER: Kind = { reason: 'cluster' }
const ELSEWHERE: Kind = {
  reason: 'cluster',
  cure: 'this Redis is a node of a cluster, so where the URL under store begins with redis://, write redis+cluster://',
}
const NO_CLUSTER: Kind = { reason: 'cluster', cure: 'write redis:// in the place of redis+cluster:// under store' }

/** Kinds by the first word of a Redis error. https://redis.io/docs/latest/develop/reference/protocol-spec/#simple-errors */
const KINDS: ReadonlyMap<string, Kind> = new Map([
  ['READONLY', { reason: 'readonly', cure: 'name the primary, or its sentinels, under store' }],
  ['NOREPLICAS', { reason: 'readonly', cure: 'bring the replicas of Redis back, or lower its min-replicas-to-write' }],
  [
    'MISCONF',
    {
      reason: 'readonly',
      cure: 'see why Redis cannot save (its log; a full disk), or set stop-writes-on-bgsave-error no',
    },
  ],
  ['OOM', { reason: 'out_of_memory', cure: 'raise maxmemory of Redis, or remove what else it keeps' }],
  [
    'WRONGTYPE',
    {
      reason: 'other',
      cure: 'remove the key that holds something else (docs/stored-data.md: a record that cannot be read)',
    },
  ],
  ['LOADING', { reason: 'loading' }],
  ['BUSY', { reason: 'busy', cure: 'end the script that runs there (SCRIPT KILL)' }],
  ['NOAUTH', LOGIN],
  ['WRONGPASS', LOGIN],
  ['NOPERM', FORBIDDEN],
  ['CLUSTERDOWN', CLUSTER],
  ['MOVED', ELSEWHERE],
  ['ASK', CLUSTER],
  ['TRYAGAIN', CLUSTER],
  ['CROSSSLOT', CLUSTER],
])

/** The error of a script that calls a forbidden command. Redis 7.0 puts other words before this text, and later versions after it. */
const FORBIDDEN_WITHIN = /The user executing the script can't|ACL failure in script/

/** The words with which a Redis that is no node of a cluster refuses the commands of one. */
const IS_NO_CLUSTER = /cluster support disabled/

/** The reply to a batch if the store has forgotten earlier ones. */
const LOST = /\bLOST (\d+)$/

/** The reply to a batch if the store has settled a later one of the same process. */
const STALE = /\bSTALE batch \d+ comes after \d+/

/** The error of ioredis for a command that it never sent, because there is no connection or cluster and no queue to wait in. */
const NOT_SENT = 'enableOfflineQueue options is false'

export function wasNeverSent(error: unknown): boolean {
  return error instanceof Error && error.message.includes(NOT_SENT)
}

/** Whether an error comes from the SELECT that ioredis sends when it connects. */
export function isOfSelect(error: Error & { readonly command?: { readonly name: string } }): boolean {
  return error.command?.name === 'select'
}

/** Whether a key holds another type than the command is for. */
export function isOfAnotherType(error: unknown): boolean {
  return messageOf(error).startsWith('WRONGTYPE')
}

/** Whether the user of Redis has no right to a command. */
export function isForbidden(error: unknown): boolean {
  return messageOf(error).startsWith('NOPERM')
}

/**
 * If Redis itself replied with an error, the command was not applied, because the script writes nothing before its last
 * check. Any other error leaves the outcome open, unless the command never left this process.
 */
export function asStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const message = messageOf(reasonOf(error))
  if (error instanceof Error && error.name === 'ReplyError') {
    const [, forgotten] = LOST.exec(message) ?? []
    if (forgotten !== undefined) return new LostCharges(Number(forgotten), error)
    if (STALE.test(message)) return new StaleBatch(message, error)
    const { reason, cure } = kindOf(error)
    return new StoreError(cure === undefined ? message : withCure(message, cure), reason, 'no', error)
  }
  if (wasNeverSent(error)) return new StoreError('no connection to Redis', 'connection', 'no', error)
  if (error instanceof Error && error.name === 'MaxRetriesPerRequestError') {
    return new StoreError('the connection to Redis was lost', 'connection', 'unknown', error)
  }
  // ioredis reports all faults of a cluster alike. The error of its last node says more.
  const { lastNodeError } = error as { lastNodeError?: unknown }
  if (lastNodeError instanceof Error) {
    const words = `no node under store tells the slots of a cluster: ${asStoreError(lastNodeError).message}`
    return new StoreError(words, 'connection', 'unknown', error)
  }
  if (message.includes('timed out')) return new StoreError('Redis did not answer in time', 'timeout', 'unknown', error)
  return new StoreError(plainly(message), 'connection', 'unknown', error)
}

/** Only some of Redis's messages end with a full stop. */
function withCure(message: string, cure: string): string {
  return `${message.replace(/[.\s]+$/, '')}. Cure: ${cure}`
}

/** The error of ioredis if the sentinels name a primary that takes no connection, or know no primary of that name. */
const NO_PRIMARY = /^All sentinels are unreachable\.(?:.* Last error: (.*?)\.?$)?/
/** The error of ioredis for bytes that are no reply of Redis. */
const NOT_REDIS = /^(.*?)\. Please report this\.$/

/** Replaces words of the client library that are meant for programmers and mislead operators. */
function plainly(message: string): string {
  const [ofSentinels, last] = NO_PRIMARY.exec(message) ?? []
  if (ofSentinels !== undefined) {
    const why = last === undefined ? '' : ` (${last})`
    return withCure(
      `no sentinel led to a primary that takes connections${why}`,
      'see whether the sentinels under store run and know the name behind the "/" (SENTINEL MASTERS), and whether the primary that they name is up',
    )
  }
  const [, strange] = NOT_REDIS.exec(message) ?? []
  if (strange === undefined) return message
  return withCure(`what answers there is no Redis (${strange})`, 'correct host and port of the URL under store')
}

/** A transaction that was given up fails with EXECABORT, and the reason is in `previousErrors`. */
function reasonOf(error: unknown): unknown {
  return (error as { readonly previousErrors?: readonly Error[] } | null)?.previousErrors?.[0] ?? error
}

/** Redis 6 begins with `ERR` and puts the kind of a script's error after a `-`. */
function kindOf(error: Error): Kind {
  if (isOfSelect(error)) return DATABASE
  const message = messageOf(reasonOf(error))
  if (FORBIDDEN_WITHIN.test(message)) return FORBIDDEN
  if (IS_NO_CLUSTER.test(message)) return NO_CLUSTER
  const word = /^ERR Error running script.*? -([A-Z]+) /.exec(message)?.[1] ?? message.split(' ', 1)[0] ?? ''
  return KINDS.get(word) ?? { reason: 'other' }
}
