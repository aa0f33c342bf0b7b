import type { Exchange } from './exchange.ts'

/**
 * Whose a request is for the adaptive mode: its user, or its address if it has none; `null` if it says nothing of the upstream.
 * @param address of its client, `null` if nobody knows it
 */
export function voiceOf(exchange: Exchange, address: (exchange: Exchange) => string | null): string | null {
  const { route, caller } = exchange
  if (route === null || route.health === 'never') return null
  if (isCharged(exchange)) return caller?.user ?? null
  return route.health === 'always' ? (caller?.user ?? address(exchange)) : null
}

function isCharged({ cost, shadowed }: Pick<Exchange, 'cost' | 'shadowed'>): boolean {
  return cost > 0 && !shadowed
}
