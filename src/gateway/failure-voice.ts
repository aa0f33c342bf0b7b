import { UNCHARGED } from '../failures/voices.ts'
import type { Exchange } from './context.ts'
import { costsAnything } from './meters.ts'

/** For whom a request counts in the adaptive mode: its user, or `UNCHARGED`; `null` if the request says nothing about the upstream. */
export function voiceOf(exchange: Exchange): string | null {
  const { route, caller, settlement } = exchange
  if (route === null || route.health === 'never') return null
  if (costsAnything(exchange) && settlement?.kind !== 'shadowed' && settlement?.kind !== 'repeated')
    return caller?.user ?? null
  return route.health === 'always' ? UNCHARGED : null
}
