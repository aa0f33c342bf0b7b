import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { chromium, type Page } from 'playwright-core'
import { LAUNCH } from '../setup/browser.ts'
import { type ZooProgram, zooProgram, zooTool } from '../setup/zoo-tools.ts'
import type { Said, Shape } from './shapes.ts'

export interface Client {
  readonly name: string
  readonly shapes: readonly Shape[]
  /** `null` if it cannot be had here. */
  start(): Asking | null
}

/** A client that runs. Each request has a connection of its own, but for those of `keepalive`. */
export interface Asking {
  ask(shape: Shape, url: string): Promise<Said>
  close(): Promise<void>
}

const HTTP: readonly Shape[] = ['chunked', 'large', 'early', 'head', 'range', 'sse', 'keepalive']
const PROGRAMS = join(import.meta.dirname, 'programs')
/** No request of the zoo takes so long, also on a machine with a lot to do. */
const TOO_LONG_MS = 60_000

/** A program that reads `SHAPE URL`, and writes a line of JSON for each. */
function program(command: string | null, ...args: string[]): Asking | null {
  if (command === null) return null
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] })
  const exited = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    ask: async (shape, url) => {
      child.stdin.write(`${shape} ${url}\n`)
      const tooLong = setTimeout(() => child.kill('SIGKILL'), TOO_LONG_MS)
      const line = await lines.next()
      clearTimeout(tooLong)
      return line.done ? { error: 'the client ended' } : (JSON.parse(line.value) as Said)
    },
    close: async () => {
      child.stdin.end()
      await exited
    },
  }
}

const python = (library: string) => program(zooTool('python'), join(PROGRAMS, 'python/client.py'), library)
const go = (library: string) => program(zooTool('go'), 'client', library)

function java(library: string): Asking | null {
  const jar = zooTool('java')
  return jar === null ? null : program('java', '-cp', `${jar}:${dirname(jar)}/lib/*`, 'Client', library)
}

/** @param modules folder that has the library; by default that of the repository */
function node(library: string, modules: string | null = 'node_modules'): Asking | null {
  return modules === null
    ? null
    : program(process.execPath, join(PROGRAMS, 'client.mjs'), library, join(process.cwd(), modules))
}

function npm(library: string): Asking | null {
  const modules = zooTool('npm')
  return modules === null ? null : program(process.execPath, join(PROGRAMS, 'client.mjs'), library, dirname(modules))
}

interface Files {
  readonly large: string
  readonly early: string
}

/** A command line for each request. @param read what its outputs say */
function commands(
  name: ZooProgram,
  argsOf: (shape: Shape, url: string, files: Files) => readonly string[],
  read: (out: string, err: string) => Said,
): Asking | null {
  const command = zooProgram(name)
  if (command === null) return null
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-zoo-'))
  const files = { large: join(folder, 'large'), early: join(folder, 'early') }
  writeFileSync(files.large, Buffer.alloc(3_000_000, 'x'))
  writeFileSync(files.early, Buffer.alloc(1_000_000, 'x'))
  return {
    ask: async (shape, url) => {
      const { out, err } = await outputOf(command, argsOf(shape, url, files))
      return read(out, err)
    },
    close: async () => rmSync(folder, { recursive: true }),
  }
}

/** @param options of its process, besides the environment of this one */
export async function outputOf(
  command: string,
  args: readonly string[],
  options: { env?: NodeJS.ProcessEnv; cwd?: string } = {},
) {
  const child = spawn(command, args, { ...options, env: { ...process.env, ...options.env }, timeout: TOO_LONG_MS })
  const texts = { out: '', err: '' }
  child.stdout.on('data', (bytes) => {
    texts.out += bytes.toString('latin1')
  })
  child.stderr.on('data', (bytes) => {
    texts.err += bytes.toString('latin1')
  })
  const [code] = await once(child, 'close')
  return { ...texts, code: code as number | null }
}

const curl = () =>
  commands(
    'curl',
    (shape, url, files) => [
      ...['-sS', '-w', '\n%{http_code}'],
      ...{
        chunked: ['-H', 'Transfer-Encoding: chunked', '--data-binary', 'hello', `${url}/echo`],
        large: ['--data-binary', `@${files.large}`, `${url}/echo`],
        early: ['--data-binary', `@${files.early}`, `${url}/early`],
        head: ['--head', '-o', '/dev/null', `${url}/hello`],
        range: ['-r', '10-19', `${url}/range`],
        sse: ['-N', `${url}/events`],
        keepalive: [
          `${url}/hello`,
          ...Array(4)
            .fill(['-o', '/dev/null', `${url}/hello`])
            .flat(),
        ],
        ws: [],
      }[shape],
    ],
    (out, err) => {
      const status = Number(/\n(\d{3})$/.exec(out)?.[1] ?? 0)
      return status === 0 ? { error: err.trim() } : { status, body: out.replaceAll(/\n\d{3}/g, '') }
    },
  )

const wget = () =>
  commands(
    'wget',
    (shape, url, files) => [
      ...['-q', '--tries=1', '-O', '-', '--server-response', '--content-on-error'],
      ...({
        large: [`--post-file=${files.large}`, `${url}/echo`],
        early: [`--post-file=${files.early}`, `${url}/early`],
        head: ['--spider', `${url}/hello`],
        sse: [`${url}/events`],
        keepalive: Array(5).fill(`${url}/hello`),
      }[shape as string] as string[]),
    ],
    (out, err) => {
      const status = Number([...err.matchAll(/HTTP\/1\.1 (\d{3})/g)].at(-1)?.[1] ?? 0)
      if (status === 0) return { error: err.trim() || 'no response' }
      // Of a 401 it shows nothing.
      return status === 401 ? { status } : { status, body: out.replace(/^(hello){5}$/, 'hello') }
    },
  )

/** It speaks HTTP/1.0. */
const ab = () =>
  commands(
    'ab',
    (shape, url, files) =>
      shape === 'large'
        ? ['-q', '-n', '1', '-p', files.large, `${url}/echo`]
        : ['-q', '-k', '-n', '5', '-c', '1', `${url}/hello`],
    (out, err) => {
      const failed = /Non-2xx responses:\s+(\d+)|Failed requests:\s+([1-9]\d*)/.exec(out)
      const complete = /Complete requests:\s+[15]\b/.test(out)
      return complete && failed === null ? { status: 200 } : { error: failed?.[0] ?? err.trim() }
    },
  )

function browser(): Asking {
  const launched = chromium.launch(LAUNCH)
  const opened = launched.then((browser) => browser.newPage())
  return {
    ask: async (shape, url) => {
      const page = await opened
      try {
        if (!page.url().startsWith(`${url}/`)) await page.goto(`${url}/hello`)
        return await askInPage(page, shape)
      } catch (error) {
        return { error: (error as Error).message.slice(0, 300) }
      }
    },
    close: async () => (await launched).close(),
  }
}

const askInPage = (page: Page, shape: Shape): Promise<Said> =>
  page.evaluate(
    async ({ shape, sockets }) => {
      const asked: Record<string, [string, RequestInit]> = {
        large: ['/echo', { method: 'POST', body: 'x'.repeat(3_000_000) }],
        early: ['/early', { method: 'POST', body: 'x'.repeat(1_000_000) }],
        head: ['/hello', { method: 'HEAD' }],
        range: ['/range', { headers: { range: 'bytes=10-19' } }],
        sse: ['/events', {}],
      }
      const [path, init] = asked[shape] ?? []
      if (path === undefined) {
        const socket = new WebSocket(sockets)
        return await new Promise<Said>((resolve) => {
          socket.onopen = () => socket.send('hi')
          socket.onmessage = ({ data }) => resolve({ status: 101, body: String(data) })
          socket.onerror = () => resolve({ error: 'the WebSocket failed' })
        })
      }
      const response = await fetch(path, init)
      return { status: response.status, body: (await response.text()).slice(0, 200) }
    },
    { shape, sockets: page.url().replace('http', 'ws').replace('/hello', '/ws') },
  )

const WS: readonly Shape[] = ['ws']

export const CLIENTS: readonly Client[] = [
  { name: 'JDK HttpClient', shapes: [...HTTP, 'ws'], start: () => java('jdk') },
  { name: 'HttpURLConnection', shapes: HTTP, start: () => java('urlconnection') },
  { name: 'HttpClient 5', shapes: HTTP, start: () => java('httpclient5') },
  { name: 'OkHttp', shapes: [...HTTP, 'ws'], start: () => java('okhttp') },
  { name: 'Go net/http', shapes: HTTP, start: () => go('net/http') },
  { name: 'gorilla', shapes: WS, start: () => go('gorilla') },
  { name: 'coder', shapes: WS, start: () => go('coder') },
  { name: 'requests', shapes: HTTP, start: () => python('requests') },
  { name: 'httpx', shapes: HTTP, start: () => python('httpx') },
  { name: 'aiohttp', shapes: [...HTTP, 'ws'], start: () => python('aiohttp') },
  { name: 'websockets', shapes: WS, start: () => python('websockets') },
  { name: 'websocket-client', shapes: WS, start: () => python('websocket-client') },
  { name: 'undici', shapes: [...HTTP, 'ws'], start: () => node('undici') },
  { name: 'ws', shapes: WS, start: () => node('ws') },
  { name: 'axios', shapes: HTTP, start: () => npm('axios') },
  { name: 'got', shapes: HTTP, start: () => npm('got') },
  { name: 'curl', shapes: HTTP, start: curl },
  { name: 'wget', shapes: ['large', 'early', 'head', 'sse', 'keepalive'], start: wget },
  { name: 'ab', shapes: ['large', 'keepalive'], start: ab },
  // A body without a length needs HTTP/2 there, and its request for an icon takes a connection of its own or not, by chance.
  { name: 'Chromium', shapes: ['large', 'early', 'head', 'range', 'sse', 'ws'], start: browser },
]
