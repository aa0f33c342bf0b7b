import * as schemas from '../../contract/admin.ts'
import type { UndoneResponse } from '../../contract/api.ts'
import type { AuditEntry } from '../../control/control-store.ts'
import { changesBack, changesNothing, stageChanges } from '../../control/override-changes.ts'
import { type ControlState, storedOf } from '../../control/state.ts'
import { type Undo, undoOf } from '../../control/undo.ts'
import { auditEntries } from '../audit-entries.ts'
import { entryResponse, shown } from '../audit-entry.ts'
import type { Desk } from '../desk.ts'
import { type AdminResponse, type Call, ok, type Route, refusal } from '../http.ts'
import { endsOf } from '../layers-shown.ts'
import { route } from '../route.ts'

/** The route that restores what a change has replaced. */
export function undoRoute(desk: Desk): Route {
  return route('POST', '/api/audit/:id/undo', {
    summary: 'Undoes a change by putting the old values back, unless somebody has changed them since',
    reads: schemas.optionalReason,
    responses: { 200: schemas.undone },
    errors: ['not_found', 'conflict', 'changed_since', 'not_undoable'],
    handle: (call) => undo(desk, call),
  })
}

async function undo(desk: Desk, call: Call): Promise<AdminResponse> {
  const entry = await entryOf(desk, call.params.id ?? '')
  if (entry === null) return NOT_KEPT
  if (entry.what === 'overrides') return undoFile(desk, call, entry)
  const { at } = await desk.store.controlVersion()
  let found: Undo = { kind: 'possible', change: null }
  return desk.change(call, {
    versionOf: (state) => versionOf(entry, state),
    changeOf(state) {
      found = undoOf(entry, storedOf(state), at)
      return found.kind === 'possible' ? found.change : null
    },
    response: (made) => responseTo(found, entry, made),
    why: `undo of ${entry.version}`,
  })
}

/** Restores all overrides that a file has replaced, except those that somebody has set since then. */
async function undoFile(desk: Desk, call: Call, entry: AuditEntry): Promise<AdminResponse> {
  const before = await desk.store.readReplaced(entry.version)
  if (before === null) return responseTo(undoOf(entry, storedOf(desk.control.state()), 0), entry, undefined)
  return desk.change(call, {
    versionOf: ({ version }) => version,
    async changeOf(state) {
      const since = await entriesSince(desk, entry.version)
      const changes = await changesBack(storedOf(state), before, entry.version, since, desk.control.storeTime())
      const about = { undone: entry.version }
      return changesNothing(changes) ? null : stageChanges(desk.store, changes, about, call.signal)
    },
    response: (made) => responseTo({ kind: 'possible', change: null }, entry, made),
    why: `undo of ${entry.version}`,
  })
}

function versionOf({ what, subject }: AuditEntry, state: ControlState): number | null {
  if (what === 'settings') return state.settings.version
  const { overrides: ofUsers, organisationOverrides } = storedOf(state)
  const overrides = what === 'override' ? ofUsers : organisationOverrides
  return overrides.get(subject ?? '')?.version ?? null
}

function responseTo(found: Undo, { version }: AuditEntry, made: AuditEntry | undefined): AdminResponse {
  if (found.kind === 'possible') {
    const response: UndoneResponse = { entry: made === undefined ? null : entryResponse(made), ends: endsOf(made) }
    return ok(response)
  }
  if (found.kind === 'impossible') {
    return refusal('not_undoable', `Change ${version} cannot be undone: ${found.why}.`)
  }
  const changed = found.values.map(({ path, set, now }) => ({ path, set: shown(set), now: shown(now) }))
  const what = changed.map(({ path }) => path || 'the override').join(', ')
  const msg = `Since change ${version} somebody has changed ${what}: nothing was put back. \`changed\` has what it set and what is there now.`
  const { status, body } = refusal('changed_since', msg)
  return { status, body: { ...(body as object), changed } }
}

const NOT_KEPT = refusal(
  'not_found',
  'The audit keeps no change of this number: GET /api/audit lists those that it keeps.',
)

/** The entries of the audit after a change, as far as they are kept. */
async function entriesSince({ store }: Desk, version: number): Promise<AuditEntry[]> {
  const found: AuditEntry[] = []
  for await (const entry of auditEntries(store)) {
    if (entry.version <= version) break
    found.push(entry)
  }
  return found
}

async function entryOf({ store }: Desk, id: string): Promise<AuditEntry | null> {
  if (!/^[1-9][0-9]{0,14}$/.test(id)) return null
  const version = Number(id)
  const [entry] = await store.readAudit(version + 1, 1)
  return entry?.version === version ? entry : null
}
