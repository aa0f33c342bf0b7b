import type { z } from 'zod'
import { isObject } from '../lib/json.ts'
import { keys } from './keys.ts'
import { auth, issuer } from './schema/auth.ts'
import { admin, adminToken, edge } from './schema/listen.ts'
import { quota } from './schema/quota.ts'
import { reference, referenceService } from './schema/reference.ts'
import { route } from './schema/routes.ts'
import { upstream } from './schema/upstream.ts'
import { type Parsed, schema } from './schema.ts'

/**
 * What of a file keeps to the schema, so that the rules between keys are checked, and their problems told, although
 * other keys have problems: those are absent, while an optional key that the file does not have is there as `undefined`.
 */
export interface Salvage {
  readonly listen?: Parsed['listen'] | undefined
  readonly workers?: Parsed['workers'] | undefined
  readonly store?: Parsed['store'] | undefined
  readonly unmatched?: Parsed['unmatched'] | undefined
  readonly admin: Partial<Omit<Parsed['admin'], 'tokens'>> & { readonly tokens: readonly Partial<ParsedAdminToken>[] }
  readonly upstream: Partial<Parsed['upstream']>
  readonly auth: Partial<Omit<Parsed['auth'], 'jwt'>> & { readonly jwt: readonly Partial<ParsedIssuer>[] }
  readonly quota: Partial<Parsed['quota']>
  /** As they are written, also where what they stand before has problems. */
  readonly names: {
    /** `null` where the file has some, and they cannot be told. */
    readonly categories: readonly string[] | null
    readonly storeOutage: readonly string[]
  }
  readonly routes: readonly Partial<ParsedRoute>[]
  /** `undefined` where the file has none. */
  readonly reference?: { readonly path?: string; readonly services: readonly Partial<ParsedService>[] } | undefined
  readonly edge: Partial<Parsed['edge']>
}

export type ParsedIssuer = Parsed['auth']['jwt'][number]
export type ParsedAdminToken = Parsed['admin']['tokens'][number]
export type ParsedService = NonNullable<Parsed['reference']>['services'][number]
export type ParsedRoute = Parsed['routes'][number]

export function salvage(data: unknown): Salvage {
  const root = isObject(data) ? data : {}
  const { listen, workers, store, unmatched } = keys(schema, root)
  return {
    listen,
    workers,
    store,
    unmatched,
    admin: {
      ...keys(admin, root.admin),
      tokens: items(adminToken, isObject(root.admin) ? root.admin.tokens : undefined),
    },
    upstream: keys(upstream, root.upstream),
    auth: { ...keys(auth, root.auth), jwt: items(issuer, isObject(root.auth) ? root.auth.jwt : undefined) },
    quota: keys(quota, root.quota),
    names: namesIn(root.quota),
    routes: items(route, root.routes),
    reference: isObject(root.reference) ? referenceIn(root.reference) : undefined,
    edge: keys(edge, root.edge),
  }
}

function referenceIn(value: Record<string, unknown>): Salvage['reference'] {
  const { path } = keys(reference, value)
  return { ...(path !== undefined && { path }), services: items(referenceService, value.services) }
}

function namesIn(value: unknown): Salvage['names'] {
  const { baselines, store_outage } = isObject(value) ? value : {}
  const personal = isObject(baselines) ? baselines.personal : undefined
  const parsed = keys(quota, value).baselines
  return {
    categories: isObject(personal) ? Object.keys(personal) : parsed === undefined ? null : [...parsed.personal.keys()],
    storeOutage: isObject(store_outage) ? Object.keys(store_outage) : [],
  }
}

function items<S extends z.core.$ZodLooseShape>(
  section: z.ZodObject<S>,
  value: unknown,
): Partial<z.output<z.ZodObject<S>>>[] {
  return Array.isArray(value) ? value.map((item: unknown) => keys(section, item ?? null)) : []
}
