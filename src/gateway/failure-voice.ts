import { UNCHARGED } from '../failures/voices.ts'
import type { Exchange } from './context.ts'

/** Whose a request is for the adaptive mode: its user's, or `UNCHARGED`; `null` if it says nothing of the upstream. */
export function voiceOf({ route, caller, cost, settlement }: Exchange): string | null {
  if (route === null || route.health === 'never') return null
  if (cost > 0 && settlement?.kind !== 'shadowed' && settlement?.kind !== 'repeated') return caller?.user ?? null
  return route.health === 'always' ? UNCHARGED : null
}
