import { createHash } from 'node:crypto'
import { once } from 'node:events'
import net from 'node:net'
import { startRedis } from '../setup/redis.ts'
import { decodeString, encodeCommand, endOfReply } from './resp.ts'
import type { Hashes } from './usage-books.ts'

/** A real Redis of our own, which runs the scripts of the simulations: they bring their own time. */
export interface ScriptRunner {
  /** Runs a script, and reads keys right before and after it. */
  run(script: Script): Promise<{ reply: Buffer; before: Buffer; values: Buffer }>
  /** Runs a command that only reads, at a time as `Script` has it. */
  look(words: readonly (string | Buffer)[], timeUs: number): Promise<Buffer>
  /** A replica gets all that there is now, and nothing after it. */
  replicate(): Promise<void>
  /** The replica takes the place of what it was copied from. */
  failOver(): Promise<void>
  /** All hashes of usage: series and refusals. */
  hashes(): Promise<Hashes>
  /** Forgets all keys. */
  clear(): Promise<void>
  close(): Promise<void>
}

export interface Script {
  readonly lua: string
  readonly keys: readonly Buffer[]
  readonly args: readonly Buffer[]
  /** What TIME answers, in microseconds since the epoch. */
  readonly timeUs: number
  /** What every write fails with; empty where it does not. */
  readonly refusal: string
  readonly read: readonly string[]
}

/**
 * Goes before a script. What depends on the clock is done here by the time of the simulation: TIME, and keys that end.
 * Everything else is done by Redis itself. A command that is not known here might depend on the clock, so it is an error.
 */
const PROLOGUE = `
local redis = (function(redis)
  local refusal, micros = table.remove(ARGV), tonumber(table.remove(ARGV))
  local now, ENDS = math.floor(micros / 1000), '{tollgate}:simulated-ends'
  local function ends_at(key, at) redis.call('HSET', ENDS, key, string.format('%.0f', at)) end
  local function write(...)
    if refusal ~= '' then error({ err = refusal }) end
    return redis.call(...)
  end
  local commands = {
    TIME = function() return { string.format('%.0f', math.floor(micros / 1000000)), string.format('%.0f', micros % 1000000) } end,
    SET = function(key, value, how, ms)
      local reply = write('SET', key, value)
      if how == 'PX' then ends_at(key, now + ms) elseif how == 'PXAT' then ends_at(key, tonumber(ms))
      elseif how == 'KEEPTTL' then return reply elseif how == nil then redis.call('HDEL', ENDS, key) else error('the simulation does not know SET ' .. how) end
      return reply
    end,
    PSETEX = function(key, ms, value) local reply = write('SET', key, value) ends_at(key, now + ms) return reply end,
    PEXPIRE = function(key, ms) if redis.call('EXISTS', key) == 0 then return 0 end ends_at(key, now + ms) return 1 end,
    PEXPIREAT = function(key, at) if redis.call('EXISTS', key) == 0 then return 0 end ends_at(key, tonumber(at)) return 1 end,
  }
  for _, name in ipairs({ 'GET', 'MGET', 'GETRANGE', 'EXISTS', 'STRLEN', 'HGET', 'HMGET', 'HLEN', 'HKEYS', 'SCAN', 'ZRANGE' }) do
    commands[name] = function(...) return redis.call(name, ...) end
  end
  for _, name in ipairs({ 'SETRANGE', 'DEL', 'HSET', 'HDEL', 'ZADD', 'ZREMRANGEBYRANK' }) do
    commands[name] = function(...) return write(name, ...) end
  end
  local function call(name, ...)
    local command = commands[string.upper(name)]
    if not command then error('the simulation does not know ' .. name) end
    return command(...)
  end
  return setmetatable({ call = call }, { __index = redis })
end)(redis)
`

/** Takes the keys away that have ended. */
const EXPIRE = `
local now, ENDS = math.floor(tonumber(ARGV[1]) / 1000), '{tollgate}:simulated-ends'
local ends = redis.call('HGETALL', ENDS)
for i = 1, #ends, 2 do
  if now > tonumber(ends[i + 1]) then redis.call('DEL', ends[i]) redis.call('HDEL', ENDS, ends[i]) end
end
`

/** The replica is another database of the same server. */
const REPLICATE = `
redis.call('SELECT', 1)
redis.call('FLUSHDB')
redis.call('SELECT', 0)
for _, key in ipairs(redis.call('KEYS', '*')) do redis.call('COPY', key, key, 'DB', 1) end
`

/** As one text: the replies of Redis are read here as a whole only. */
const HASHES = `
local found = {}
for _, key in ipairs(redis.call('KEYS', '*:series*')) do found[key] = redis.call('HGETALL', key) end
found.refusals = redis.call('HGETALL', '{tollgate}:refusals')
return cjson.encode(found)
`

const NO_STRINGS = Buffer.from('*0\r\n')

export async function startScriptRunner(): Promise<ScriptRunner> {
  const server = await startRedis()
  const socket = net.connect(server.port, '127.0.0.1').setNoDelay(true)
  await once(socket, 'connect')
  const waiting: ((reply: Buffer) => void)[] = []
  let received: Buffer = Buffer.alloc(0)
  const loaded = new Map<string, string>()

  socket.on('data', (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    for (let end = endOfReply(received, 0); received.length > 0 && end !== -1; end = endOfReply(received, 0)) {
      waiting.shift()?.(received.subarray(0, end))
      received = received.subarray(end)
    }
  })

  function send(...commands: (string | Buffer)[][]): Promise<Buffer[]> {
    const replies = commands.map(() => new Promise<Buffer>((resolve) => waiting.push(resolve)))
    socket.write(Buffer.concat(commands.map(encodeCommand)))
    return Promise.all(replies)
  }

  async function load(lua: string, prologue = PROLOGUE): Promise<string> {
    const known = loaded.get(lua)
    if (known !== undefined) return known
    const text = prologue + lua
    await send(['SCRIPT', 'LOAD', text])
    const sha = createHash('sha1').update(text).digest('hex')
    loaded.set(lua, sha)
    return sha
  }

  async function run({ lua, keys, args, timeUs, refusal, read }: Script) {
    const [expire, sha] = [await load(EXPIRE, ''), await load(lua)]
    const [past, script] = [
      ['EVALSHA', expire, '0', timeUs.toFixed(0)],
      ['EVALSHA', sha, String(keys.length), ...keys, ...args, timeUs.toFixed(0), refusal],
    ]
    if (read.length === 0) {
      const [, reply] = await send(past, script)
      return { reply: reply as Buffer, before: NO_STRINGS, values: NO_STRINGS }
    }
    const look = ['MGET', ...read]
    const [, before, reply, values] = await send(past, look, script, look)
    return { reply: reply as Buffer, before: before as Buffer, values: values as Buffer }
  }

  // Replies have the form that clients of the present ioredis ask for.
  await send(['HELLO', '3'])
  return {
    run,
    async look(words, timeUs) {
      const expire = ['EVALSHA', await load(EXPIRE, ''), '0', timeUs.toFixed(0)]
      const [, reply] = await send(expire, [...words])
      return reply as Buffer
    },
    async replicate() {
      await send(['EVAL', REPLICATE, '0'])
    },
    async failOver() {
      await send(['SWAPDB', '0', '1'])
    },
    hashes: async () => {
      const [reply] = await send(['EVAL', HASHES, '0'])
      const lists: Record<string, string[]> = JSON.parse(decodeString(reply as Buffer))
      return Object.fromEntries(Object.entries(lists).map(([key, list]) => [key, pairsOf(list)]))
    },
    clear: async () => {
      await send(['FLUSHALL'])
    },
    close: async () => {
      socket.destroy()
      await server.stop()
    },
  }
}

function pairsOf(list: readonly string[]): Record<string, string> {
  return Object.fromEntries(Array.from({ length: list.length / 2 }, (_, i) => [list[2 * i], list[2 * i + 1]]))
}
