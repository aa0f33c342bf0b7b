import { describe, expect, it } from 'vitest'
import { StoreError } from '../../../src/quota/quota-store.ts'
import { asStoreError } from '../../../src/store/redis/store-errors.ts'

const reply = (message: string, more: object = {}): Error =>
  Object.assign(new Error(message), { name: 'ReplyError', ...more })

describe('an error that Redis replied', () => {
  it.each([
    ["READONLY You can't write against a read only replica. script: 1a2b, on @user_script:118.", 'readonly'],
    ["OOM command not allowed when used memory > 'maxmemory'. script: 1a2b, on @user_script:111.", 'out_of_memory'],
    ['LOADING Redis is loading the dataset in memory', 'loading'],
    ['BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.', 'busy'],
    ['NOAUTH Authentication required.', 'auth'],
    ['WRONGPASS invalid username-password pair or user is disabled.', 'auth'],
    ["NOPERM this user has no permissions to run the 'evalsha' command", 'auth'],
    ['CLUSTERDOWN Hash slot not served', 'cluster'],
    ["CROSSSLOT Keys in request don't hash to the same slot", 'cluster'],
    ['MISCONF Redis is configured to save RDB snapshots, but it is unable to persist to disk.', 'readonly'],
    ['NOREPLICAS Not enough good replicas to write. script: 1a2b, on @user_script:118.', 'readonly'],
    ["ERR The user executing the script can't run this command or subcommand script: 1a2b, on @user_script:2.", 'auth'],
    [
      "ERR The user executing the script can't access at least one of the keys mentioned in the command arguments",
      'auth',
    ],
    ["NOPERM ACL failure in script: User u has no permissions to run the 'set' command script: 1a2b", 'auth'],
    ['', 'other'],
  ])('an error that Redis replied was not applied, and has a short reason: %s', (message, reason) => {
    const cause = reply(message)
    const error = asStoreError(cause)
    expect(error).toMatchObject({ name: 'StoreError', reason, applied: 'no', cause })
    expect(error.message.startsWith(message)).toBe(true)
  })

  it('an error that Redis replied says that a later batch was settled, with or without the words of a script before it', () => {
    for (const message of ['STALE batch 1 comes after 2', 'ERR Error running script: -STALE batch 1 comes after 2'])
      expect(asStoreError(reply(message))).toMatchObject({ name: 'StaleBatch', reason: 'other', applied: 'no' })
  })

  it.each([
    ['NOREPLICAS Not enough good replicas to write.', 'min-replicas-to-write'],
    ['MISCONF Redis is configured to save RDB snapshots', 'stop-writes-on-bgsave-error'],
    ["ERR The user executing the script can't run this command or subcommand", 'ACL SETUSER'],
    ['WRONGPASS invalid username-password pair or user is disabled.', 'the URL under store'],
    ['MOVED 7332 127.0.0.1:6473', 'write redis+cluster://'],
    ['ERR This instance has cluster support disabled', 'write redis:// in the place'],
  ])('an error that Redis replied says what the operator can do: %s', (message, cure) => {
    expect(asStoreError(reply(message)).message).toContain(cure)
  })

  it('an error that Redis replied ends with its own words before the cure begins', () => {
    const message = "NOPERM this user has no permissions to run the 'get' command"
    expect(asStoreError(reply(message)).message).toContain(`'get' command. Cure: `)
    expect(asStoreError(reply('NOAUTH Authentication required.')).message).toContain('required. Cure: ')
  })

  it('inside a script of Redis 6 has the reason of its inner word', () => {
    const message =
      "ERR Error running script (call to f_1a2b): @user_script:111: @user_script: 111: -READONLY You can't write against a read only replica."
    expect(asStoreError(reply(message))).toMatchObject({ reason: 'readonly', applied: 'no' })
  })

  it('to a transaction has the reason for which it was given up', () => {
    const previousErrors = [reply("OOM command not allowed when used memory > 'maxmemory'.")]
    const message = 'EXECABORT Transaction discarded because of previous errors.'
    expect(asStoreError(reply(message, { previousErrors }))).toMatchObject({
      reason: 'out_of_memory',
      applied: 'no',
      message: expect.stringMatching(/^OOM command not allowed .* Cure: raise maxmemory/),
    })
  })
})

describe('any other error', () => {
  it.each([
    ["Stream isn't writeable and enableOfflineQueue options is false", 'connection', 'no'],
    ["Cluster isn't ready and enableOfflineQueue options is false", 'connection', 'no'],
    ['Command timed out', 'timeout', 'unknown'],
    ['Connection is closed.', 'connection', 'unknown'],
    ['read ECONNRESET', 'connection', 'unknown'],
    ['Reached the max retries per request limit (which is 0).', 'connection', 'unknown'],
  ])('any other error leaves the outcome open unless it was never sent: %s', (message, reason, applied) => {
    expect(asStoreError(new Error(message))).toMatchObject({ name: 'StoreError', reason, applied })
  })

  it.each([
    [
      'All sentinels are unreachable. Retrying from scratch after 10ms. Last error: ERR No such master with that name',
      'no sentinel led to a primary that takes connections (ERR No such master with that name). Cure: ',
    ],
    [
      'All sentinels are unreachable. Retrying from scratch after 250ms.',
      'no sentinel led to a primary that takes connections. Cure: ',
    ],
    [
      'Unknown RESP type 72 "H". Please report this.',
      'what answers there is no Redis (Unknown RESP type 72 "H"). Cure: ',
    ],
    [
      'Protocol error, got "H" as reply type byte. Please report this.',
      'what answers there is no Redis (Protocol error',
    ],
    ['read ECONNRESET', 'read ECONNRESET'],
  ])('any other error is worded for operators if the words of the client library mislead: %s', (message, words) => {
    expect(asStoreError(new Error(message)).message).toContain(words)
    expect(asStoreError(new Error(message)).message).not.toMatch(/Please report|unreachable/)
  })

  it('any other error that is ours already stays as it is', () => {
    const ours = new StoreError('x', 'busy', 'no')
    expect(asStoreError(ours)).toBe(ours)
  })
})
