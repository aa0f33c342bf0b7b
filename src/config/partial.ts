import type { z } from 'zod'
import { isObject } from '../lib/json.ts'
import { keys } from './keys.ts'
import { alert } from './schema/alerts.ts'
import { auth, introspection, issuer } from './schema/auth.ts'
import { cors } from './schema/cors.ts'
import { decisions } from './schema/decisions.ts'
import { admin, adminToken, edge, match } from './schema/listen.ts'
import { published } from './schema/public.ts'
import { quota } from './schema/quota.ts'
import { reference, referenceService } from './schema/reference.ts'
import { route } from './schema/routes.ts'
import { telemetry } from './schema/telemetry.ts'
import { upstream } from './schema/upstream.ts'
import { usage } from './schema/usage.ts'
import { schema } from './schema.ts'

/**
 * The valid parts of a file, under its keys, so that rules between keys are checked even if other keys have problems. Keys
 * with problems are absent. Optional keys that the file lacks are `undefined`.
 */
export interface PartialConfig {
  /** `undefined` if the file has none. */
  readonly cors?: Partial<Of<typeof cors>> | undefined
  /** `undefined` if the file has none. */
  readonly decisions?: Partial<Of<typeof decisions>> | undefined
  /** `undefined` if the file has none. */
  readonly telemetry?: Partial<z.output<typeof telemetry>> | undefined
  readonly listen?: Root['listen'] | undefined
  /** Whether clients connect by TLS, even if its configuration has problems. */
  readonly hasTls: boolean
  readonly workers?: Root['workers'] | undefined
  readonly store?: Root['store'] | undefined
  readonly storeOptions?: Root['store_options'] | undefined
  readonly unmatched?: Root['unmatched'] | undefined
  readonly admin: Partial<Omit<Of<typeof admin>, 'tokens'>> & { readonly tokens: readonly Partial<ParsedAdminToken>[] }
  readonly upstream: Partial<Of<typeof upstream>>
  readonly auth: Partial<Omit<Of<typeof auth>, 'jwt' | 'introspection'>> & {
    readonly jwt: readonly Partial<ParsedIssuer>[]
    readonly introspection: readonly Partial<ParsedIntrospection>[]
  }
  readonly quota: Partial<Of<typeof quota>>
  /** As written, even if their values have problems. */
  readonly names: {
    /** `null` if the file has unreadable ones. */
    readonly categories: readonly string[] | null
    readonly storeOutage: readonly string[]
    /** `null` if the file has unreadable ones. */
    readonly plans: readonly string[] | null
  }
  readonly routes: readonly Partial<ParsedRoute>[]
  readonly alerts: readonly ParsedAlert[]
  /** `undefined` if the file has none. */
  readonly reference?: { readonly path?: string; readonly services: readonly Partial<ParsedService>[] } | undefined
  readonly usage: Partial<Of<typeof usage>>
  readonly published: Partial<Of<typeof published>>
  readonly edge: Partial<Omit<Of<typeof edge>, 'match'>> & { readonly match: Partial<z.output<typeof match>> }
}

/** The section before it is converted into the words of the domain. */
type Of<S extends { readonly in: z.ZodType }> = z.output<S['in']>
type Root = Of<typeof schema>

export type ParsedIssuer = Of<typeof issuer>
export type ParsedIntrospection = Of<typeof introspection>
type ParsedAdminToken = z.output<typeof adminToken>
type ParsedService = z.output<typeof referenceService>
export type ParsedAlert = Partial<z.output<typeof alert>>
export type ParsedRoute = Of<typeof route>

export function partialConfig(data: unknown): PartialConfig {
  const root = isObject(data) ? data : {}
  const { listen, workers, store, store_options, unmatched } = keys(schema.in, root)
  return {
    listen,
    hasTls: root.tls !== undefined,
    workers,
    store,
    storeOptions: store_options,
    unmatched,
    admin: {
      ...keys(admin.in, root.admin),
      tokens: items(adminToken, isObject(root.admin) ? root.admin.tokens : undefined),
    },
    upstream: isObject(root.upstream) ? keys(upstream.in, root.upstream) : {},
    auth: authIn(root.auth),
    quota: keys(quota.in, root.quota),
    names: namesIn(root.quota),
    routes: items(route.in, root.routes),
    alerts: items(alert, root.alerts),
    decisions: isObject(root.decisions) ? keys(decisions.in, root.decisions) : undefined,
    telemetry: isObject(root.telemetry) ? keys(telemetry, root.telemetry) : undefined,
    cors: isObject(root.cors) ? keys(cors.in, root.cors) : undefined,
    reference: isObject(root.reference) ? referenceIn(root.reference) : undefined,
    usage: keys(usage.in, root.usage),
    published: keys(published.in, root.public),
    edge: { ...keys(edge.in, root.edge), match: keys(match, isObject(root.edge) ? root.edge.match : undefined) },
  }
}

function authIn(value: unknown): PartialConfig['auth'] {
  const lists = isObject(value) ? value : {}
  return {
    ...keys(auth.in, value),
    jwt: items(issuer.in, lists.jwt),
    introspection: items(introspection.in, lists.introspection),
  }
}

function referenceIn(value: Record<string, unknown>): PartialConfig['reference'] {
  const { path } = keys(reference.in, value)
  return { ...(path !== undefined && { path }), services: items(referenceService, value.services) }
}

function namesIn(value: unknown): PartialConfig['names'] {
  const { baselines, store_outage, plans } = isObject(value) ? value : {}
  const personal = isObject(baselines) ? baselines.personal : undefined
  const parsed = keys(quota.in, value).baselines
  // A misspelt key may be the one that is missing.
  const isMisspelt = isObject(value) && Object.keys(value).some((key) => !Object.hasOwn(quota.in.shape, key))
  const isUnread = parsed === undefined || (baselines === undefined && isMisspelt)
  return {
    categories: isObject(personal) ? Object.keys(personal) : isUnread ? null : [...parsed.personal.keys()],
    storeOutage: isObject(store_outage) ? Object.keys(store_outage) : [],
    plans: isObject(plans) ? Object.keys(plans) : plans === undefined && !isMisspelt ? [] : null,
  }
}

function items<S extends z.core.$ZodLooseShape>(
  section: z.ZodObject<S>,
  value: unknown,
): Partial<z.output<z.ZodObject<S>>>[] {
  return Array.isArray(value) ? value.map((item: unknown) => keys(section, item ?? null)) : []
}
