import { type Config, type MeterConfig, metersIn, type RouteConfig } from '../config/config.ts'
import type { PlanRules } from '../gateway/plan.ts'
import type { MeterRule, Reference, Repetition, Route, RouteTariff } from '../gateway/snapshot.ts'
import { fieldsOf, isByLength } from '../inputs/price.ts'
import { onceForEach } from '../lib/memo.ts'
import { inSlices } from '../lib/slices.ts'
import { publicPaths } from '../quota/own-paths.ts'
import { createReference } from '../reference/reference.ts'
import { UNMATCHED } from '../replicas/presence.ts'
import { makeRouteTable, type RouteTable } from '../routing/route-table.ts'
import { patienceOf } from './patience.ts'

/**
 * The rules by which a configuration routes requests, for the gateway and for `explain`. They are made once for each
 * configuration, because making a table of 10,000 routes takes many times as long as a look-up.
 */
export const planRulesOf = onceForEach(async (config: Config): Promise<PlanRules> => {
  const { maxUrl, maxBody, allowInPath, lenient } = config.edge
  return {
    maxUrl,
    maxBody,
    paths: { ...allowInPath, lenient: new Set<string>(lenient) },
    publicPaths: publicPaths(config.published),
    reference: await referenceOf(config),
    preflight: config.cors?.preflight ?? null,
    routes: await routesOf(config),
    unmatched: unmatchedOf(config),
  }
})

async function referenceOf(config: Config): Promise<Reference | null> {
  const { reference } = config
  if (reference === null) return null
  // Loads the library of the schemas, which a gateway without the page does not need.
  const { gatewayDocument } = await import('../reference/document.ts')
  const document = gatewayDocument({ config, path: reference.path, upstream: reference.document })
  return createReference({ config: reference, document })
}

/** Made in slices, so that a reload delays nobody. */
async function routesOf(config: Config): Promise<RouteTable<Route>> {
  const making = makeRouteTable<Route>(config.edge.folding)
  const slices = inSlices()
  for (const route of config.routes) {
    making.add(routeOf(route, config))
    if (slices.isOver()) await slices.next()
  }
  return making.table
}

function routeOf(route: RouteConfig, { upstream, auth }: Config): Route {
  const { match, line, methods, segments, health, shadow, tunnelChargeMs, idempotency } = route
  const anonymous = !route.public && (route.anonymous ?? auth.anonymous !== null)
  const tariff = route.public ? null : tariffOf(route)
  const repetition = idempotency && repetitionOf(idempotency)
  const patience = patienceOf(route, upstream)
  const common = { match, line, methods, segments, tariff, anonymous, health, shadow, patience }
  return { ...common, tunnelChargeMs, repetition }
}

function tariffOf(rule: MeterConfig & { readonly others: readonly MeterConfig[] | null }): RouteTariff {
  const meters = metersIn(rule)
  const fields = meters.flatMap(({ cost }) => fieldsOf(cost))
  const bodies = meters.flatMap(({ cost }) => (cost.kind === 'asked' && cost.maxBody !== null ? cost.maxBody : []))
  return {
    ...meterOf(rule),
    others: rule.others?.map(meterOf) ?? null,
    fields: fields.map((name) => name.toLowerCase()),
    isAsked: meters.some(({ cost }) => cost.kind === 'asked'),
    maxBody: bodies.length === 0 ? null : Math.min(...bodies),
    mayChange: meters.some(({ cost, settle }) => settle !== null || isByLength(cost)),
  }
}

function meterOf({ category, cost, settle }: MeterConfig): MeterRule {
  return { category, price: cost, settle }
}

function repetitionOf(idempotency: NonNullable<RouteConfig['idempotency']>): Repetition {
  return { ...idempotency, field: idempotency.header.toLowerCase() }
}

function unmatchedOf({ unmatched, upstream, auth }: Config): Route | null {
  if (unmatched.kind === 'refuse') return null
  const base = {
    match: UNMATCHED,
    line: null,
    methods: '*',
    segments: [],
    health: 'charged',
    anonymous: auth.anonymous !== null,
    tunnelChargeMs: null,
    repetition: null,
  } as const
  if (unmatched.kind === 'forward') return { ...base, tariff: null, shadow: false, patience: null }
  const patience = patienceOf(unmatched, upstream)
  return { ...base, tariff: tariffOf(unmatched), shadow: unmatched.shadow, patience }
}
