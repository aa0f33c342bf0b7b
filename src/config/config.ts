import { firstAndOthers } from '../lib/first-and-others.ts'
import type { Immutable } from '../lib/immutable.ts'
import type { Plans, ScopedLimits } from '../quota/limit-layers.ts'
import type { Parsed } from './schema.ts'

export type { HostPort, IssuerKeys, Listen, StoreLocation } from './addresses.ts'
export type { OpenapiDocument } from './openapi-file.ts'
export type { Pattern, Segment } from './pattern.ts'

/**
 * A parsed and checked configuration, with every default filled in, in the words of the domain. The schema makes it
 * from a file, except for what depends on the place of a value. Paths are absolute or relative to the working
 * directory. Times are in milliseconds (`…Ms`) or seconds as the name says, sizes in bytes. config/tollgate.yaml
 * documents every key with its unit, range and default.
 */
export interface Config extends Omit<Understood, 'quota' | 'routes' | 'upstream'> {
  /** The file from which it was read, as it was named. */
  readonly file: string
  /** Among how many workers the totals are divided, if this is the part of one worker (`workers/share.ts`). Default 1. */
  readonly sharedBy?: number
  readonly upstream: UpstreamConfig
  readonly quota: QuotaConfig
  /** In the order of the file, which does not matter. */
  readonly routes: readonly RouteConfig[]
  /** A hash of `routes`. It does not depend on the lines on which they stand. */
  readonly rulesHash: string
}

type Understood = Immutable<Parsed>

/** Files of one certificate. */
export type ListenerTls = NonNullable<Understood['tls']>[number]
/** Files for the gateway's own connections. */
export type ClientTls = NonNullable<UpstreamConfig['tls']>
export type UpstreamConfig = Omit<Understood['upstream'], 'url'> & {
  /** The origin, perhaps with a path that does not end in a slash. */
  readonly url: string
}
export type StoreConfig = Understood['store']
export type AuthConfig = Understood['auth']
export type IssuerConfig = AuthConfig['jwt'][number]

export type QuotaConfig = Understood['quota'] & {
  /** The line of each limit in the file, under the same keys. Built-in defaults have none. */
  readonly lines: LimitLines
  /** Whether a claim, or a service that asks for decisions, can name the first day of a user's months. Default no. */
  readonly hasNamedDays?: boolean
}

export interface LimitLines {
  readonly baselines: Partial<ScopedLimits>
  readonly custom: Partial<ScopedLimits>
  readonly plans: Plans
}

/** A rule of the route map. */
export type RouteConfig = Understood['routes'][number] & {
  /** The line of `match` in the file, from 1. */
  readonly line: number
}
export type UnmatchedConfig = Understood['unmatched']
export type Charged = Extract<UnmatchedConfig, { readonly kind: 'charge' }>
export type Cost = Charged['cost']
/** What a rule charges in one category. */
export type MeterConfig = Pick<Charged, 'category' | 'cost' | 'settle'>

/** All meters of a rule. The rule itself is the first one. */
export function metersIn(
  rule: MeterConfig & { readonly others: readonly MeterConfig[] | null },
): readonly MeterConfig[] {
  return firstAndOthers<MeterConfig>(rule)
}

/** The rules whose requests are charged. If requests of no rule are charged, the last one is theirs, with the word `unmatched` in place of a match. */
export function chargedRules({ routes, unmatched }: Pick<Config, 'routes' | 'unmatched'>) {
  const ofOthers = unmatched.kind === 'charge' ? [{ ...unmatched, match: 'unmatched' }] : []
  return [...routes.filter((route) => !route.public), ...ofOthers]
}

/** The page on which the API can be read and tried. */
export type ReferenceConfig = NonNullable<Understood['reference']>
export type EdgeConfig = Understood['edge']
/** How much one address and one user may hold of one resource. */
export type PartsConfig = EdgeConfig['shares']['requests']
/** A number, a part of the total (above 0, up to 1), or `null` for any number. */
export type Part = PartsConfig['address']
/** The listener at which proxies and services ask for decisions. */
export type DecisionsConfig = NonNullable<Understood['decisions']>
/** What pages of other origins may do. */
export type CorsConfig = NonNullable<Understood['cors']>
/** An alert: what is watched, and which webhook is notified. `category` and `window` are `null` for an alert about failures. */
export type AlertConfig = Understood['alerts'][number]
export type LogConfig = Understood['log']
