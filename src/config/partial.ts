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

/** Keys with problems are absent. Optional keys that the file lacks are `undefined`. */
export type PartialConfig = Readonly<ReturnType<typeof partialConfig>>

/** The section before it is converted into the words of the domain. */
type Of<S extends { readonly in: z.ZodType }> = z.output<S['in']>

export type ParsedIssuer = Of<typeof issuer>
export type ParsedIntrospection = Of<typeof introspection>
export type ParsedAlert = Partial<z.output<typeof alert>>
export type ParsedRoute = Of<typeof route>

/**
 * The valid parts of a file, under its keys, so that rules between keys are checked even if other keys have problems. If a rule must
 * know that the file lacks a section, the missing section is `undefined`.
 */
export function partialConfig(data: unknown) {
  const root = isObject(data) ? data : {}
  const { listen, workers, store, store_options, unmatched } = keys(schema.in, root)
  return {
    listen,
    /** Whether clients connect by TLS, even if its configuration has problems. */
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
    /** Names of categories and plans as they are written, even if their values have problems. */
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

function authIn(value: unknown) {
  const lists = isObject(value) ? value : {}
  return {
    ...keys(auth.in, value),
    jwt: items(issuer.in, lists.jwt),
    introspection: items(introspection.in, lists.introspection),
  }
}

function referenceIn(value: Record<string, unknown>) {
  const { path } = keys(reference.in, value)
  return { ...(path !== undefined && { path }), services: items(referenceService, value.services) }
}

/** A list is `null` if the names are not known, because the section is invalid or its key may be misspelt. */
function namesIn(value: unknown) {
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
