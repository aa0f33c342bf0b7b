import * as z from 'zod'
import { readJsonFile } from '../../common/json-file.ts'

/** The settings of the external platforms, as operators write them; see config/score/external.json. */

const DURATIONS: Units = { ms: 1, s: 1000, m: 60_000 }
const SIZES: Units = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20 }

type Units = Readonly<Record<string, number>>

/** A quantity with its unit, as milliseconds or bytes. */
function quantity(units: Units, [min, max]: [min: string, max: string], example: string) {
  const error = `expected ${min} to ${max}, written with its unit like ${example}`
  return z.string({ error }).transform((text, context) => {
    const value = amountOf(text, units)
    const isInRange = value >= amountOf(min, units) && value <= amountOf(max, units)
    if (!isInRange) context.addIssue(error)
    return value
  })
}

/** NaN if the text is no quantity. */
function amountOf(text: string, units: Units): number {
  const [, count, unit = ''] = /^(\d{1,9})([a-zA-Z]+)$/.exec(text) ?? []
  return Number(count) * (Object.hasOwn(units, unit) ? (units[unit] as number) : Number.NaN)
}

const duration = (example: string) => quantity(DURATIONS, ['1ms', '10m'], example)

const BASE_URL = 'expected an http or https URL without user, query or fragment, like https://example.com/api'

/** The base URL of a platform. Slashes at its end are removed. */
const baseUrl = z
  .string({ error: BASE_URL })
  .refine(isBaseUrl, { error: BASE_URL })
  .transform((text) => text.replace(/\/+$/, ''))

function isBaseUrl(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && !/[@?#\s\\]/.test(text)
}

function platform(batch: number) {
  const expected = 'expected a whole number from 0 (all in one request) to 10000'
  return z.strictObject({
    base_url: baseUrl,
    /** The most records in one request of a push; 0 sends all of them in one. */
    batch: z.int({ error: expected }).min(0, { error: expected }).max(10_000, { error: expected }).default(batch),
  })
}

/** A platform that is left out is not used: its endpoint responds with capability_missing. */
const externalFile = z.strictObject({
  lxns: platform(500).optional(),
  fish: platform(0).optional(),
  /** The time to connect, TLS included. */
  connect_timeout: duration('5s').prefault('5s'),
  /** The longest silence on a connection. */
  read_timeout: duration('30s').prefault('30s'),
  /** The time for all requests of one update to a platform. */
  total_timeout: duration('60s').prefault('60s'),
  /** The largest body of one response. */
  max_response: quantity(SIZES, ['1KiB', '256MiB'], '16MiB').prefault('16MiB'),
})

/** The content of the file as it is written, before it is checked. */
export type ExternalConfig = z.input<typeof externalFile>
/** The checked settings, with durations in milliseconds and sizes in bytes. */
export type External = z.output<typeof externalFile>

/** @param source a JSON file, or the parsed content of one @throws Error that names the file, every bad key and the cure */
export async function readExternal(source: string | ExternalConfig): Promise<External> {
  const name = typeof source === 'string' ? source : 'external'
  const parsed = externalFile.safeParse(typeof source === 'string' ? await readJsonFile(source) : source)
  if (parsed.success) return parsed.data
  throw new Error(
    parsed.error.issues
      .flatMap(problemsOf)
      .map((problem) => `${name}: ${problem}`)
      .join('\n'),
  )
}

function problemsOf(issue: z.core.$ZodIssue): string[] {
  const path = issue.path.map(String)
  if (issue.code !== 'unrecognized_keys') return [`${path.join('.') || 'the file'}: ${issue.message}`]
  const known = Object.keys(path.length === 0 ? externalFile.shape : platform(0).shape).join(', ')
  return issue.keys.map((key) => `${[...path, key].join('.')}: unknown key; take it out, or write one of ${known}`)
}
