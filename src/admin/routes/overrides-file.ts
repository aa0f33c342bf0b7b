import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { z } from 'zod'
import * as schemas from '../../contract/admin.ts'
import type { OverridesSetResponse } from '../../contract/api.ts'
import type { AllOverrides } from '../../control/control-store.ts'
import { OVERRIDES } from '../../control/forms.ts'
import { inForce, NOTHING_CHANGED } from '../../control/in-force.ts'
import {
  changesNothing,
  type Largeness,
  type OverrideChanges,
  type OverrideDifference,
  overrideChanges,
  stageChanges,
  tooLarge,
} from '../../control/override-changes.ts'
import {
  fieldsOf,
  MOST_BYTES,
  OVERRIDE_FORMATS,
  type OverrideFile,
  readOverrides,
  writeOverrides,
} from '../../control/override-file.ts'
import { overridesIn } from '../../control/override-layers.ts'
import { type OrganisationOverride, storedOf, type UserOverride } from '../../control/state.ts'
import { oneAtATime } from '../../lib/serialize.ts'
import { attachment } from '../attachment.ts'
import { type Desk, etag } from '../desk.ts'
import { type AdminResponse, badFields, type FieldProblem, ok, type Route } from '../http.ts'
import { endsBetween } from '../layers-shown.ts'
import { formatOf, LINE_TYPES, NOT_LINES } from '../line-body.ts'
import { type CallOf, route } from '../route.ts'
import { inForceOf } from '../state.ts'
import { tooDearLines } from '../too-dear.ts'
import { unseenLines } from '../unseen.ts'

const Format = z.strictObject({
  format: z
    .enum(OVERRIDE_FORMATS, { error: `must be ${OVERRIDE_FORMATS.join(' or ')}` })
    .default('ndjson')
    .describe('The lines of the file, each a JSON object, or CSV with a head'),
})

const flag = z.enum(['0', '1'], { error: 'must be 1, or 0' }).optional()

const Way = z.strictObject({
  dry_run: flag.describe('With 1, nothing is changed, and the response says what would change'),
  merge: flag.describe(
    'With 1, overrides that the file does not name stay, and lines with an end are added above what is set',
  ),
  allow_empty: flag.describe('With 1, a file without overrides removes all overrides'),
  max_removed: z
    .string()
    .regex(/^\d{1,9}$/, { error: 'must be how many overrides may be removed: for example 250' })
    .optional()
    .describe('How many overrides may be removed. The default is a tenth of all'),
  reason: schemas.reason.optional(),
})

/** The routes for a file of all overrides. */
export function overridesRoutes(desk: Desk): Route[] {
  const inTurn = oneAtATime()
  return [
    route('GET', '/api/overrides', {
      maxBody: MOST_BYTES,
      takesLines: true,
      summary: 'Returns all overrides of users and organisations as a file',
      query: Format,
      hasVersion: true,
      responses: { 200: 'lines' },
      handle: ({ query }) => show(desk, query),
    }),
    route('PUT', '/api/overrides', {
      maxBody: MOST_BYTES,
      takesLines: true,
      summary: 'Replaces all overrides by those of a file, all at once',
      query: Way,
      body: 'lines',
      ifMatch: true,
      hasVersion: true,
      responses: { 200: schemas.overridesSet },
      errors: ['version_conflict', 'conflict'],
      // One at a time, because each may take some ten megabytes.
      handle: (call) => inTurn(() => put(desk, call)),
    }),
  ]
}

async function show({ control, setup }: Desk, { format }: z.infer<typeof Format>): Promise<AdminResponse> {
  const stored = storedOf(await control.fresh())
  const headers = { ...etag(stored.version), ...attachment('overrides', format) }
  const body = Readable.from(writeOverrides(stored, format, setup().quota, control.storeTime()))
  return { status: 200, body, contentType: LINE_TYPES[format], headers }
}

async function put(desk: Desk, call: CallOf<z.infer<typeof Way>>): Promise<AdminResponse> {
  call.signal.throwIfAborted()
  const way = call.query
  const format = formatOf(String(call.headers['content-type'] ?? ''))
  if (format === null) return NOT_LINES
  const bytes = call.body instanceof Buffer ? call.body : Buffer.alloc(0)
  const { at } = await desk.store.controlVersion()
  const before = storedOf(await desk.control.fresh())
  const read = await readOverrides(bytes, { format, file: desk.setup().quota, now: at, stored: before })
  if ('problems' in read) return badFields(read.problems)
  const isDry = way.dry_run === '1'
  const merge = way.merge === '1'
  const who = call.identity?.name ?? 'nobody'
  const { max_removed: most, allow_empty: empty } = way
  const allowed = { empty: empty === '1', removed: most === undefined ? null : Number(most) }
  const wished = await overrideChanges(before, read.wanted, merge, who, at)
  if (wished.problems.length > 0) return badFields(wished.problems)
  const large = tooLarge(wished, read.wanted, merge, allowed)
  const refused = large === null ? null : confirmed(large)
  if (refused !== null && !isDry) return badFields([refused])
  const about = { merge, sha256: createHash('sha256').update(bytes).digest('hex') }
  let changes: OverrideChanges | null = null
  return desk.change(call, {
    versionOf: ({ version }) => version,
    async changeOf(state) {
      changes = await overrideChanges(storedOf(state), read.wanted, merge, who, at)
      return isDry || changesNothing(changes) ? null : stageChanges(desk.store, changes, about, call.signal)
    },
    response: (entry) => {
      if (changes === null) throw new Error('a response without what was changed')
      return responseTo(desk, changes, { ...read, before }, at, {
        dryRun: isDry,
        refused,
        merge,
        version: entry?.version ?? changes.base,
      })
    },
    ...(way.reason !== undefined && { why: way.reason }),
  })
}

async function responseTo(
  { store, setup, control, adaptive }: Desk,
  { counts, ends, sample, next }: OverrideChanges,
  { wanted, ended, before }: OverrideFile & { readonly before: AllOverrides },
  at: number,
  about: Pick<OverridesSetResponse, 'dryRun' | 'refused' | 'merge' | 'version'>,
): Promise<AdminResponse> {
  const stored = { ...storedOf(control.state()), ...next }
  const { state } = inForce(stored, NOTHING_CHANGED, control.storeTime())
  const { policy } = inForceOf(setup(), state, adaptive().factor)
  const { lines: warnings, count: warningCount } = await tooDearLines(policy, wanted, setup())
  const unseen = await unseenLines(store, wanted, before)
  const changes = sample.map(({ kind, id, from, to }) => ({
    [kind]: id,
    ...{ from: line(from), to: line(to), ends: endsBetween(OVERRIDES, from, to, at) },
  }))
  const response: OverridesSetResponse = {
    ...about,
    total: next.overrides.size + next.organisationOverrides.size,
    ...counts,
    endsAdded: ends.added,
    endsDropped: ends.dropped,
    changes,
    warnings,
    warningCount,
    ended: ended.slice(0, MOST_ENDED),
    endedCount: ended.length,
    unseen: unseen.first,
    unseenCount: unseen.count,
  }
  return ok(response, etag(about.version))
}

/** The fields of the uppermost override, as a line of the file has them; `null` for none. */
function line(packed: OverrideDifference['from']) {
  const override = overridesIn<UserOverride | OrganisationOverride>(packed ?? undefined).at(-1)
  return override === undefined ? null : fieldsOf(override)
}

const MOST_ENDED = 100

function confirmed({ word, msg }: Largeness): FieldProblem {
  const sent = word === 'allow_empty' ? 'allow_empty=1' : 'max_removed with the number'
  return { path: word, msg: `${msg}: send ${sent} if that is meant; dry_run=1 shows what would change` }
}
