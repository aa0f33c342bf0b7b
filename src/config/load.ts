import { dirname } from 'node:path'
import type { z } from 'zod'
import { readRegular } from '../lib/regular-file.ts'
import { withBuiltInLimits } from './built-in-limits.ts'
import { checkAll } from './checks.ts'
import type { Config } from './config.ts'
import { readErrorBodies } from './error-bodies.ts'
import { authoritiesIn, unusableFiles } from './files.ts'
import { hashText } from './hash.ts'
import { INVISIBLE, invisibleIn } from './invisible.ts'
import { lineOf, locate } from './locate.ts'
import { readOpenapi } from './openapi-file.ts'
import { partialConfig } from './partial.ts'
import { type Finding, formatPath, type Path, type Problem, sortProblems } from './problems.ts'
import { maskVariables } from './redact.ts'
import { resolve } from './resolve.ts'
import { type Parsed, schema } from './schema.ts'
import { type ReadSecret, secretFiles } from './secret-files.ts'
import type { Environment } from './substitute.ts'
import { readText } from './text-file.ts'
import { parseTree, type Tree } from './tree.ts'
import type { Reading } from './units.ts'
import { type PlainData, toData } from './yaml-data.ts'
import { findingsOf, pathsThatWantText } from './zod-issues.ts'

export type LoadResult = Loaded | Rejected

export interface Loaded {
  readonly ok: true
  readonly config: Config
  readonly warnings: readonly Problem[]
  /**
   * The same for all replicas with the same file and the same shared files: key sets of issuers, authorities of the
   * upstream and of the store, an OpenAPI document, and bodies of errors. Secrets do not count, nor do certificates and keys
   * of single replicas. Authorities and revocation lists of clients do not count either, because the gateway reads these
   * again whenever they change, and the hash would not follow them.
   */
  readonly hash: string
  /** The hash of the text of the file. It equals `hash` if the file names none of the shared files. */
  readonly textHash: string
  /** The place of each key, for problems that are found later, for example in a key file. */
  readonly outline: Tree
}

export interface Rejected {
  readonly ok: false
  /** All problems that can be reported, by line. There is at least one. */
  readonly problems: readonly Problem[]
  readonly warnings: readonly Problem[]
}

/** The size of the largest configuration file. Usual files have a few thousand bytes. */
const MAX_FILE = 1 << 20
const TOO_LARGE = 'is larger than 1 MiB: name the configuration file, or shorten it'
const FILE = { what: 'the configuration file', most: MAX_FILE, tooLarge: TOO_LARGE, ignoreBOM: true }

/** Reads a configuration file, and checks that the files that it names can be read. Never rejects: every error is a problem. */
export async function loadConfig(file: string, env: Environment): Promise<LoadResult> {
  const reading = await readText(file, FILE)
  if ('problem' in reading) return reject([{ path: [], message: reading.problem }], null, file)
  const result = parseConfig(reading.value, file, env)
  if (!result.ok) return result
  const problems = (await unusableFiles(result.config)).map(({ path, message }) => problemAt(result, path, message))
  return problems.length === 0
    ? withFiles(result)
    : { ok: false, problems: sortProblems(problems), warnings: result.warnings }
}

/** Reads the files that all processes of the gateway must have alike, together with the configuration. */
async function withFiles(loaded: Loaded): Promise<LoadResult> {
  const { warnings } = loaded
  const reading = await withDocument(loaded.config)
  if ('problem' in reading) {
    return { ok: false, problems: [problemAt(loaded, ['reference', 'openapi'], reading.problem)], warnings }
  }
  const { bodies, hashes, findings } = await readErrorBodies(loaded.config.errors)
  if (findings.length > 0) {
    const problems = findings.map(({ path, message }) => problemAt(loaded, path, message))
    return { ok: false, problems: sortProblems(problems), warnings }
  }
  const { reference, hash } = reading.value
  const config = await withKeyHashes({ ...loaded.config, reference, errors: bodies })
  const keys = config.auth.jwt.map(({ keys }) => (keys.kind === 'file' ? keys.hash : undefined))
  const authorities = await Promise.all(authoritiesIn(config).map(hashOfFile))
  const all = [...keys, ...authorities, hash, ...hashes].filter((hash) => hash !== undefined)
  return { ...loaded, config, hash: all.length === 0 ? loaded.hash : hashText([loaded.hash, ...all].join()) }
}

/** @returns the page with its document, and the hash of the document if there is one */
async function withDocument({ reference }: Config): Promise<Reading<Pick<Config, 'reference'> & { hash?: string }>> {
  if (reference === null || reference.openapi === null) return { value: { reference } }
  const reading = await readOpenapi(reference.openapi)
  if ('problem' in reading) return reading
  const { document, hash } = reading.value
  return { value: { reference: { ...reference, document }, hash } }
}

async function withKeyHashes(config: Config): Promise<Config> {
  const jwt = config.auth.jwt.map(async ({ keys, ...issuer }) => {
    const hash = keys.kind === 'file' ? await hashOfFile(keys.path) : undefined
    return { ...issuer, keys: keys.kind === 'file' && hash !== undefined ? { ...keys, hash } : keys }
  })
  return { ...config, auth: { ...config.auth, jwt: await Promise.all(jwt) } }
}

/** `undefined` if the file cannot be read. The part of the gateway that uses the file reports that. */
async function hashOfFile(file: string): Promise<string | undefined> {
  return readRegular(file).then(
    (bytes) => hashText(bytes.toString()),
    () => undefined,
  )
}

/** Parses the text of a configuration file, and reads secrets from `${file:PATH}`. Never throws: every error is a problem. */
export function parseConfig(text: string, file: string, env: Environment): LoadResult {
  const unfit = findUnfit(text)
  if (unfit !== null) return reject([unfit], null, file)
  const { tree, findings: ofTree } = parseTree(text)
  if (tree === null) return reject(ofTree.length > 0 ? ofTree : [EMPTY], null, file)

  const { plain, parsed } = understand(tree, env, secretFiles(dirname(file)))
  const ofSchema = parsed.success ? [] : findingsOf(parsed.error.issues)
  const ofRules = checkAll(partialConfig(plain.data), (path) => lineOf(tree, path))
  const unreported = [...ofSchema, ...ofRules].filter(({ path }) => !plain.refused.has(formatPath(path)))
  const findings = maskVariables([...ofTree, ...plain.findings, ...unreported], plain.variables)

  if (!parsed.success || findings.some(isProblem)) return reject(findings, tree, file)
  const hash = hashText(text)
  return {
    ok: true,
    config: resolve(parsed.data, tree, file),
    warnings: problemsOf(findings, tree, file),
    hash,
    textHash: hash,
    outline: tree,
  }
}

/** A problem that was found later, with its place. */
export function problemAt({ config, outline }: Loaded, path: Path, message: string): Problem {
  return problemOf({ path, message }, outline, config.file)
}

const EMPTY: Finding = { path: [], message: 'is empty: write at least upstream: { url: http://127.0.0.1:9000 }' }

function findUnfit(text: string): Finding | null {
  if (Buffer.byteLength(text) > MAX_FILE) return { path: [], message: TOO_LARGE }
  const control = text.search(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/)
  if (control >= 0) return unfitAt(text, control, 'there is a control character: remove it')
  return falseSpace(text, FALSE_INDENT, 'does not indent') ?? falseSpace(text, FALSE_GAP, 'does not end a key')
}

/** @param pattern its match ends with the character that is no space */
function falseSpace(text: string, pattern: RegExp, what: string): Finding | null {
  const found = pattern.exec(text)
  if (found === null) return null
  const blank = found.index + found[0].length - 1
  const name = invisibleIn(text.charAt(blank))
  return unfitAt(text, blank, `${name} looks like a space and ${what} in YAML: replace each by a space`)
}

/** A false space before a key, which YAML takes as a part of the key. Without a colon the line may belong to a text of several lines. */
const FALSE_INDENT = new RegExp(`^[ -]*[${INVISIBLE}](?=.*:(?:\\s|$))`, 'm')
/** A false space after a key and its colon, so that YAML takes the whole line as one text. */
const FALSE_GAP = new RegExp(`^[ -]*[\\w-]+:[${INVISIBLE}]`, 'm')

function unfitAt(text: string, index: number, message: string): Finding {
  const before = text.slice(0, index).split('\n')
  return { path: ['yaml'], message, at: { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 } }
}

interface Understood {
  readonly plain: PlainData
  readonly parsed: z.ZodSafeParseResult<Parsed>
}

/** A variable that looks like a number is read as text in a second attempt, if a text is needed. */
function understand(tree: Tree, env: Environment, readSecret: ReadSecret): Understood {
  const plain = filled(toData(tree, env, readSecret))
  const parsed = schema.safeParse(plain.data)
  if (parsed.success) return { plain, parsed }
  const asText = new Set(pathsThatWantText(parsed.error.issues).map(formatPath))
  if (asText.size === 0) return { plain, parsed }
  const again = filled(toData(tree, env, readSecret, asText))
  return { plain: again, parsed: schema.safeParse(again.data) }
}

function filled(plain: PlainData): PlainData {
  return { ...plain, data: withBuiltInLimits(plain.data) }
}

function reject(findings: readonly Finding[], tree: Tree | null, file: string): Rejected {
  return {
    ok: false,
    problems: problemsOf(findings.filter(isProblem), tree, file),
    warnings: problemsOf(
      findings.filter((finding) => !isProblem(finding)),
      tree,
      file,
    ),
  }
}

function isProblem({ severity = 'problem' }: Finding): boolean {
  return severity === 'problem'
}

function problemsOf(findings: readonly Finding[], tree: Tree | null, file: string): Problem[] {
  return sortProblems(findings.map((finding) => problemOf(finding, tree, file)))
}

function problemOf(finding: Finding, tree: Tree | null, file: string): Problem {
  const { path, message, severity = 'problem' } = finding
  return { file, ...locate(tree, finding), path: formatPath(path), message, severity }
}
