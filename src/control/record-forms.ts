import { isObject } from '../lib/json.ts'
import {
  isCount,
  isFlag,
  isNumber,
  isText,
  isTime,
  listOf,
  mapOf,
  oneOf,
  optional,
  orNull,
  type Shape,
  shapeOf,
} from '../lib/shape.ts'
import { isSoft, NO_LIMIT } from '../quota/limit-value.ts'
import { isPeriodDay } from '../quota/period-days.ts'
import { MODES } from '../quota/policy.ts'
import type { AccessKeyRecord } from './access-key-store.ts'
import type { AuditEntry } from './control-store.ts'
import type { Changes, GivenGrant, OrganisationOverride, Packed, UserOverride } from './state.ts'

/** The stored forms of changes by administrators. A value of another form was not written by us. */

const isTable = mapOf(mapOf((value) => value === NO_LIMIT || isSoft(value) || isNumber(value)))
const isScopedTable = shapeOf({ personal: optional(isTable), global: optional(isTable) })
const isPlan = shapeOf({ personal: optional(isTable), organisation: optional(isTable) })

/** @param isValue the form of a layer's value */
function layersOf(isValue: Shape): Shape {
  return listOf(
    shapeOf({
      id: isText,
      from: isTime,
      until: orNull(isTime),
      value: isValue,
      guard: optional(shapeOf({ id: isText, until: isTime, refused: isNumber })),
      who: orNull(isText),
      why: orNull(isText),
    }),
  )
}

const isSettings = shapeOf({
  mode: optional(oneOf(MODES)),
  global: optional(shapeOf({ enabled: optional(isFlag), multiplier: optional(isNumber) })),
  baselines: optional(isScopedTable),
  custom: optional(isScopedTable),
  plans: optional(mapOf(isPlan)),
  shadow: optional(isFlag),
  layers: optional(layersOf(mapOf(() => true))),
})

const OVERRIDE = {
  limits: isTable,
  factor: optional(isNumber),
  periodDay: optional(isPeriodDay),
  reason: isText,
  expiresAt: orNull(isTime),
}
const ofUser = { plan: optional(isText), within: optional(isText), bypassGlobal: isFlag, shadow: isFlag }

/** An override with layers above it, or layers alone. */
function packed(isOverride: Shape): Shape {
  const areLayers = layersOf(isOverride)
  return (value) => {
    if (!isObject(value) || value.layers === undefined) return isOverride(value)
    const { layers, ...rest } = value
    return areLayers(layers) && (Object.keys(rest).length === 0 || isOverride(rest))
  }
}

const isPackedOfUser = packed(shapeOf({ ...OVERRIDE, ...ofUser }))
const isPackedOfOrganisation = packed(shapeOf(OVERRIDE))

const isGivenGrant = shapeOf({
  user: optional(isText),
  organisation: optional(isText),
  category: isText,
  tokens: isCount,
  givenAt: isTime,
  until: isTime,
  reason: isText,
  endedAt: orNull(isTime),
})

const isAccessKey = shapeOf({
  id: isText,
  hash: isText,
  user: isText,
  name: isText,
  plan: optional(isText),
  organisation: optional(isText),
  createdAt: isTime,
  expiresAt: orNull(isTime),
  revokedAt: orNull(isTime),
  usedAt: optional(isTime),
})

const isVain = shapeOf({
  unfollowed: listOf(shapeOf({ path: isText, by: listOf(shapeOf({ kind: isText })) })),
  movesNobody: isFlag,
})

const isAuditEntry = shapeOf({
  version: (value) => isCount(value) && value !== 0,
  at: isTime,
  who: isText,
  what: isText,
  subject: orNull(isText),
  why: orNull(isText),
  vain: optional(isVain),
})

/** Whether every member of a value that is shown as a time is a valid time, also within layers and samples. */
function isDated(value: unknown): boolean {
  if (!isObject(value)) return true
  const { expiresAt, overrides, organisations = {}, layers, replaces } = value
  if (!isDated(replaces)) return false
  if (layers !== undefined && !layersOf(isDated)(layers)) return false
  if (typeof expiresAt === 'number' && !isTime(expiresAt)) return false
  const samples = [overrides, organisations].filter(isObject)
  return samples.every((sample) => Object.values(sample).every(isDated))
}

/** The forms of the values before and after a change, for kinds of changes with a form of their own. */
const VALUES: Readonly<Partial<Record<string, Shape>>> = {
  settings: isSettings,
  override: isPackedOfUser,
  organisation_override: isPackedOfOrganisation,
  grant: isGivenGrant,
}

export function changesOf(value: unknown): Packed<Changes> | null {
  return isSettings(value) ? (value as Packed<Changes>) : null
}

export function userOverrideOf(value: unknown): Packed<UserOverride> | null {
  return isPackedOfUser(value) ? (value as Packed<UserOverride>) : null
}

export function organisationOverrideOf(value: unknown): Packed<OrganisationOverride> | null {
  return isPackedOfOrganisation(value) ? (value as Packed<OrganisationOverride>) : null
}

export function givenGrantOf(value: unknown): GivenGrant | null {
  return isGivenGrant(value) ? (value as GivenGrant) : null
}

/** @param hash the hash under which the record is stored. A record with another hash is not accepted */
export function accessKeyOf(value: unknown, hash: string): AccessKeyRecord | null {
  if (!isAccessKey(value)) return null
  const record = value as AccessKeyRecord
  return record.hash === hash ? record : null
}

/** An unreadable value before the change counts as none, because the change itself is known. */
export function auditEntryOf(value: unknown): AuditEntry | null {
  if (!isAuditEntry(value)) return null
  const entry = value as AuditEntry
  const { from = null, to = null } = entry
  const isOfKind = orNull(VALUES[entry.what] ?? isDated)
  if (!isOfKind(to)) return null
  return { ...entry, from: isOfKind(from) ? from : null, to }
}
