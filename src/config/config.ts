import { firstAndOthers } from '../lib/first-and-others.ts'
import type { Immutable } from '../lib/immutable.ts'
import type { Plans, ScopedLimits } from '../quota/limit-layers.ts'
import type { Parsed } from './schema.ts'

export type { HostPort, IssuerKeys, Listen, StoreLocation } from './addresses.ts'
export type { OpenapiDocument } from './openapi-file.ts'
export type { Pattern, Segment } from './pattern.ts'

/**
 * A configuration as understood: checked, with every default filled in, in the words of the domain. The schema makes it
 * of a file, and the place of a value in the file decides the rest. Paths are absolute, or relative to the working
 * directory. Times are in milliseconds (`…Ms`) or seconds as the name says, sizes in bytes. The commented reference of
 * every key, its unit, range and default is config/tollgate.yaml.
 */
export interface Config extends Omit<Understood, 'quota' | 'routes' | 'upstream'> {
  /** The file it was read from, as it was named. */
  readonly file: string
  /** Among how many workers it is divided, if it is the share of one (`workers/share.ts`). Default 1: it is the whole. */
  readonly sharedBy?: number
  readonly upstream: UpstreamConfig
  readonly quota: QuotaConfig
  /** In the order of the file, which means nothing. */
  readonly routes: readonly RouteConfig[]
  /** The same for the same `routes`, whatever their lines. */
  readonly rulesHash: string
}

type Understood = Immutable<Parsed>

/** Files of one certificate. */
export type ListenerTls = NonNullable<Understood['tls']>[number]
/** Files for connections that the gateway makes. */
export type ClientTls = NonNullable<UpstreamConfig['tls']>
export type UpstreamConfig = Omit<Understood['upstream'], 'url'> & {
  /** Origin, and perhaps a path that does not end in a slash. */
  readonly url: string
}
export type StoreConfig = Understood['store']
export type AuthConfig = Understood['auth']
export type IssuerConfig = AuthConfig['jwt'][number]

export type QuotaConfig = Understood['quota'] & {
  /** The line of each limit in the file, by the same keys; none of the built-in defaults. */
  readonly lines: LimitLines
  /** Whether a claim holds the day with which months begin. Default none does. */
  readonly hasNamedDays?: boolean
}

export interface LimitLines {
  readonly baselines: Partial<ScopedLimits>
  readonly custom: Partial<ScopedLimits>
  readonly plans: Plans
}

/** A rule of the route map. */
export type RouteConfig = Understood['routes'][number] & {
  /** Of `match` in the file, from 1. */
  readonly line: number
}
export type UnmatchedConfig = Understood['unmatched']
export type Charged = Extract<UnmatchedConfig, { readonly kind: 'charge' }>
export type Cost = Charged['cost']
/** What a rule charges in one category. */
export type MeterConfig = Pick<Charged, 'category' | 'cost' | 'settle'>

/** All meters of a rule: it is its own first one. */
export function metersIn(
  rule: MeterConfig & { readonly others: readonly MeterConfig[] | null },
): readonly MeterConfig[] {
  return firstAndOthers<MeterConfig>(rule)
}

/** The page on which the API can be read and tried. */
export type ReferenceConfig = NonNullable<Understood['reference']>
export type EdgeConfig = Understood['edge']
/** Of one thing, what one address and one user may hold. */
export type PartsConfig = EdgeConfig['shares']['requests']
/** So many, a part of the total (above 0, up to 1), or `null` for any number. */
export type Part = PartsConfig['address']
/** Where other proxies ask. */
export type DecisionsConfig = NonNullable<Understood['decisions']>
/** What pages of other origins may read. */
export type CorsConfig = NonNullable<Understood['cors']>
/** Who is notified of what. `category` and `window` are `null` for failures. */
export type AlertConfig = Understood['alerts'][number]
export type LogConfig = Understood['log']
