import { UNCHARGED } from '../failures/voices.ts'
import type { Exchange } from './context.ts'
import { costsAnything } from './meters.ts'

/** Whose vote a request is in the adaptive mode: its user's, or `UNCHARGED`; `null` if it says nothing about the upstream. */
export function voiceOf(exchange: Exchange): string | null {
  const { route, caller, settlement } = exchange
  if (route === null || route.health === 'never') return null
  if (costsAnything(exchange) && settlement?.kind !== 'shadowed' && settlement?.kind !== 'repeated')
    return caller?.user ?? null
  return route.health === 'always' ? UNCHARGED : null
}
