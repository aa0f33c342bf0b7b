import type { Authenticator } from '../auth/authenticator.ts'
import { isLoopback } from '../config/addresses.ts'
import type { Config } from '../config/config.ts'
import { HERE } from '../decisions/handler.ts'
import type { Rules } from '../gateway/snapshot.ts'
import { callerRulesOf } from './caller-rules.ts'

/**
 * The rules for requests about which other proxies or services ask; `null` without `decisions`. The asker stands for many clients. The
 * addresses that it names for them are believed, so that limits by address apply. The users that it names (`auth.trusted`) are believed only
 * if `edge.trusted_proxies` contains this machine, because most proxies forward fields that clients write.
 */
export function decidingRulesOf(config: Config, rules: Rules, authenticator: Authenticator): Rules | null {
  const { decisions, auth } = config
  if (decisions === null) return null
  const isProxy = (address: string) => address === '' || isLoopback(address) || rules.isProxy(address)
  const believed = { ...config, auth: { ...auth, trusted: rules.isProxy(HERE) ? auth.trusted : null } }
  return {
    ...rules,
    isProxy,
    callers: callerRulesOf(believed, authenticator, isProxy, null, rules.shadow),
    // Here these paths belong to the service and not to the gateway.
    publicPaths: new Set(),
    documents: new Map(),
    reference: null,
    preflight: rules.preflight === null ? null : 'forward',
    presentation: {
      cors: null,
      bodies: new Map(),
      ...rules.presentation,
      toProxy: { refuseWith: decisions.refuseWith },
    },
    // Nothing is forwarded, so no connection to the upstream is needed.
    shares: { ...rules.shares, upstream_connections: UNBOUNDED },
  }
}

const UNBOUNDED = { total: null, address: null, network: null, user: null, strangers: null }
