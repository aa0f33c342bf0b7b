import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Document, parseDocument } from 'yaml'
import { createApp } from '../../src/app/app.ts'
import { type LoadResult, loadConfig } from '../../src/config/load.ts'
import { formatProblems } from '../../src/config/problems.ts'
import type { Observation } from '../../src/observe/observation.ts'
import { blocksIn } from '../docs/blocks.ts'
import { atEnd } from '../setup/at-end.ts'
import { makeCa, makeCertificate } from '../setup/openssl.ts'
import type { Door } from './ask.ts'

/** The name under which clients know the service. */
export const HOST = 'shop.example.org'

export interface Guide {
  /** Port of the service, or of what stands before it. */
  readonly upstream: number
  readonly env?: Readonly<Record<string, string>>
  /** Files that the page names, beside `tls.crt` and `tls.key`. */
  readonly files?: Readonly<Record<string, string>>
  /** What `tollgate check` says of the page. Default nothing */
  readonly warns?: RegExp
  /** Set besides, by path, or taken away as `undefined`: what the page says to begin with. */
  readonly also?: readonly (readonly [path: readonly (string | number)[], value: unknown])[]
}

export interface RunningGuide {
  readonly door: Door
  /** The port of `decisions.listen`; `null` for none. */
  readonly decisions: number | null
  /** Makes an access key. */
  keyOf(user: string): Promise<string>
  /** Whom each request was taken for, in the order in which they ended. */
  users(): (string | null)[]
  stop(): Promise<void>
}

/** The one block of a language on a page of docs/guides. */
export function blockOf(page: string, language: string): string {
  const found = blocksIn(readFileSync(`docs/guides/${page}.md`, 'utf8')).filter(
    (block) => block.language === language && block.file !== null,
  )
  if (found.length !== 1) throw new Error(`docs/guides/${page}.md has ${found.length} files in ${language}`)
  return found[0]?.text ?? ''
}

/**
 * A gateway with the configuration of a page, of which addresses are others: those it listens on, those of the upstream and of the store. The quota refuses.
 * @throws Error if `tollgate check` says anything else of it than the page
 */
export async function startGuide(
  page: string,
  { upstream, env: others = {}, files = {}, also = [], warns = /^$/ }: Guide,
): Promise<RunningGuide> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-guide-'))
  const env = { TOLLGATE_ADMIN_TOKEN: 'admin-token-of-the-guides-0000000', ...others }
  const ca = certify(folder)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const document = parseDocument(blockOf(page, 'yaml'))
  const checked = await read(document.toString(), folder, env)
  const said = formatProblems([...(checked.ok ? [] : checked.problems), ...checked.warnings])
  if (!warns.test(said)) throw new Error(`docs/guides/${page}.md: ${said}`)
  moveTo(document, upstream)
  // As the page says to do in the end.
  document.setIn(['quota', 'shadow'], false)
  for (const [path, value] of also) value === undefined ? document.deleteIn(path) : document.setIn(path, value)
  const loaded = await read(document.toString(), folder, env)
  if (!loaded.ok) throw new Error(formatProblems(loaded.problems))
  const observations: Observation[] = []
  const app = await createApp({
    config: loaded.config,
    hash: loaded.hash,
    version: 'test',
    observe: (o) => observations.push(o),
  })
  const { gateway, admin } = await app.start()
  rmSync(folder, { recursive: true })
  const { protocol, port } = new URL(gateway)
  const asked = observations.find((o) => o.type === 'listening' && o.what === 'decisions')
  const secure = protocol === 'https:'
  return {
    door: { port: Number(port), origin: `${protocol}//${HOST}`, ...(secure ? { ca } : {}) },
    decisions: asked?.type === 'listening' ? Number(new URL(asked.url).port) : null,
    keyOf: async (user) => {
      const headers = { authorization: `Bearer ${env.TOLLGATE_ADMIN_TOKEN}`, 'content-type': 'application/json' }
      const body = JSON.stringify({ user, name: 'laptop' })
      const made = await fetch(`${admin}/api/tokens`, { method: 'POST', headers, body })
      return ((await made.json()) as { token: string }).token
    },
    users: () => observations.filter((o) => o.type === 'request').map(({ user }) => user),
    stop: atEnd(() => app.stop()),
  }
}

/** Makes `tls.crt` and `tls.key` of the service in a folder. @returns the certificate of their authority */
export function certify(folder: string): string {
  const ca = makeCa(folder, 'ca')
  makeCertificate(folder, 'tls', ca, `DNS:${HOST}`)
  return ca.cert
}

function read(text: string, folder: string, env: Readonly<Record<string, string>>): Promise<LoadResult> {
  const file = join(folder, 'tollgate.yaml')
  writeFileSync(file, text)
  return loadConfig(file, env)
}

/** Other addresses, and nothing else. */
function moveTo(document: Document, upstream: number): void {
  document.setIn(['listen'], '127.0.0.1:0')
  document.setIn(['admin', 'listen'], '127.0.0.1:0')
  document.setIn(['store'], 'sqlite::memory:')
  document.setIn(['log'], { level: 'fatal' })
  const url = new URL(String(document.getIn(['upstream', 'url'])))
  url.hostname = '127.0.0.1'
  url.port = String(upstream)
  document.setIn(['upstream', 'url'], url.href.replace(/\/$/, ''))
}
