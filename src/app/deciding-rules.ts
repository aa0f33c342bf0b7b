import type { Authenticator } from '../auth/authenticator.ts'
import { isLoopback } from '../config/addresses.ts'
import type { Config } from '../config/config.ts'
import { HERE } from '../decisions/handler.ts'
import type { Rules } from '../gateway/snapshot.ts'
import { callerRulesOf } from './caller-rules.ts'

/**
 * The rules of a configuration for requests that others forward; `null` if nobody asks for them. Whoever asks stands for many clients and is
 * believed where they are, so that their shares and limits by address hold. It is believed who they are, as `auth.trusted` has it, only if
 * `edge.trusted_proxies` has this machine: most proxies pass on the fields that clients write.
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
    // The paths of the gateway's own pages belong to the service here.
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
    // Nothing is forwarded, so no connection to the upstream is taken.
    shares: { ...rules.shares, upstream_connections: UNBOUNDED },
  }
}

const UNBOUNDED = { total: null, address: null, network: null, user: null, strangers: null }
