import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { parseHostPort, parseUpstream } from '../config/addresses.ts'
import { loadConfig } from '../config/load.ts'
import { formatProblems } from '../config/problems.ts'
import { messageOf } from '../errors.ts'
import { openLineSink } from '../observe/line-sink.ts'
import type { Witness } from '../observe/observation.ts'
import { accessLine } from './access-line.ts'
import type { Loaded } from './config.ts'
import { readArguments } from './config-option.ts'
import { serveFile } from './serve.ts'
import { linkFor, type Started } from './sign-in-link.ts'
import { suggest } from './suggest.ts'
import { type Trial, trialConfig } from './trial-config.ts'
import { createTrialTally, leftOutText, type TrialTally } from './trial-tally.ts'
import { UsageError } from './usage-error.ts'

/** How the user calls Tollgate. In a checkout npm sets this variable to the name of the script. */
const COMMAND = process.env.npm_lifecycle_event === 'tollgate' ? 'npm run -s tollgate --' : 'tollgate'

/** How long the service may take to accept a connection, in milliseconds. */
const PATIENCE_MS = 2000

/** The default port of the listeners, unless it is in use. */
const PORT = 8080
const ADMIN_PORT = 9090

type TryOptions = Omit<Trial, 'token' | 'store'>

/** Runs a gateway that refuses nothing in front of a service, without a file, until a signal ends it. */
export async function tryOut(args: readonly string[]): Promise<number> {
  const options = await optionsOf(args)
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-try-'))
  let isKept = false
  try {
    const requests = join(folder, 'requests.log')
    const seen = await run(options, folder, requests)
    if (seen === null) return 1
    isKept = await offer(options, requests, seen)
    return 0
  } finally {
    if (!isKept) await rm(folder, { recursive: true, force: true })
  }
}

async function optionsOf(args: readonly string[]): Promise<TryOptions> {
  const { values, positionals } = readArguments(args, {
    listen: { type: 'string' },
    admin: { type: 'string' },
    key: { type: 'string', default: 'Authorization' },
  })
  const [url, ...more] = positionals
  if (url === undefined || more.length > 0) {
    throw new UsageError('try needs the URL of one service: tollgate try http://localhost:3000')
  }
  const reading = parseUpstream(url)
  if ('problem' in reading) throw new UsageError(`the URL of the service ${reading.problem}`)
  return {
    upstream: reading.value,
    listen: await addressOf('--listen', values.listen, PORT),
    admin: await addressOf('--admin', values.admin, ADMIN_PORT),
    key: values.key,
  }
}

async function addressOf(option: string, given: string | undefined, usual: number): Promise<string> {
  if (given === undefined) return `127.0.0.1:${(await isFree(usual)) ? usual : 0}`
  const reading = parseHostPort(given)
  if ('problem' in reading) throw new UsageError(`${option} ${reading.problem}`)
  return given
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

/** The requests of the trial. */
interface Seen {
  /** Requests that are in the log. */
  readonly logged: number
  /** The requests that are not in the log. */
  readonly tally: TrialTally
}

/** `null` if the gateway could not start. */
async function run(options: TryOptions, folder: string, requests: string): Promise<Seen | null> {
  const gateway = join(folder, 'gateway')
  await mkdir(gateway)
  const file = join(gateway, 'tollgate.yaml')
  const token = randomBytes(32).toString('hex')
  await writeFile(file, trialConfig({ ...options, token, store: join(gateway, 'tollgate.db') }), { mode: 0o600 })
  const log = openLineSink(requests)
  const tally = createTrialTally(options.upstream)
  let logged = 0
  const witness: Witness = (target, done) => {
    const line = accessLine(target, done, Date.now())
    if (line === null) return tally.leftOut(done)
    logged++
    log.write(line)
  }
  try {
    const code = await serveFile(
      file,
      async (started) => welcome(options, folder, started, await accepts(options.upstream)),
      { witness, observe: tally.hear, load: loadQuietly },
    )
    return code === 0 ? { logged, tally } : null
  } catch (error) {
    const message = messageOf(error)
    if (!message.includes('EADDRINUSE')) throw error
    throw new Error(
      `somebody else listens on ${options.listen} or ${options.admin}: choose others by --listen and --admin`,
      {
        cause: error,
      },
    )
  } finally {
    await log.close()
    await rm(gateway, { recursive: true })
  }
}

/** Drops the warnings that callers are not checked and nobody is refused, because that is intended here. */
async function loadQuietly(file: string): Promise<Loaded> {
  const loaded = await loadConfig(file, process.env)
  if (!loaded.ok) throw new Error(formatProblems(loaded.problems))
  return loaded
}

/** Whether somebody accepts connections at a URL. */
function accepts(url: string): Promise<boolean> {
  const { protocol, hostname, port } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port || (protocol === 'https:' ? 443 : 80)) })
    socket.setTimeout(PATIENCE_MS, () => socket.destroy())
    socket.on('error', () => {}).on('close', () => resolve(false))
    socket.on('connect', () => {
      resolve(true)
      socket.destroy()
    })
  })
}

function welcome({ upstream, key }: TryOptions, folder: string, started: Started, isThere: boolean): void {
  console.log(`
Tollgate is in front of ${upstream} and refuses nothing.${isThere ? '' : '\nNobody listens there yet: requests get 502 until the service runs.'}

  send requests to   ${started.gateway}
  dashboard          ${linkFor({ isTTY: true }, started)}   (signs in once, within 10 minutes)
  callers            by the field ${key}, of a JWT by its sub; without it by address. Nobody verifies it
  all is kept in     ${folder}

Press Ctrl-C to end it. It then offers a configuration made from the requests.`)
}

/**
 * Writes the configuration that fits the requests, if somebody at the terminal wants it. Without a terminal it prints the command.
 * @returns whether the requests are still needed
 */
async function offer({ upstream, key }: TryOptions, requests: string, { logged, tally }: Seen): Promise<boolean> {
  const leftOut = leftOutText(logged, tally)
  if (leftOut !== null) console.log(leftOut)
  if (logged === 0) return false
  const out = freeName()
  const options = ['--log', requests, '--upstream', upstream, '--key', key, '--out', out]
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    console.log(
      `The requests (${logged}) are in ${requests}. For a configuration: ${COMMAND} suggest ${options.join(' ')}`,
    )
    return true
  }
  if (!(await isWanted(`Write ${out} from the requests (${logged})? [Y/n] `))) return false
  try {
    await suggest(options)
  } catch (error) {
    console.error(`tollgate: ${messageOf(error)}`)
    console.log(`The requests are in ${requests}. To try again: ${COMMAND} suggest ${options.join(' ')}`)
    return true
  }
  console.log(`Next: read in ${out} who vouches for callers (auth) and where clients connect (listen), then:
  ${COMMAND} check -c ${out}
  ${COMMAND} serve -c ${out}`)
  return false
}

/** The name of a file that does not exist yet. */
function freeName(): string {
  for (let n = 1; ; n++) {
    const name = ['tollgate.yaml', 'tollgate.suggested.yaml'][n - 1] ?? `tollgate.suggested-${n - 1}.yaml`
    if (!existsSync(name)) return name
  }
}

async function isWanted(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  try {
    return !/^n/i.test((await terminal.question(question)).trim())
  } finally {
    terminal.close()
  }
}
