/**
 * Combo and sync lamps by name or number, as clients send them. The numbers are the game's: `sync` is 5 although it is
 * the weakest lamp.
 */
function lamps(names: Record<string, number>): ReadonlyMap<unknown, number> {
  const entries = Object.entries(names)
  return new Map<unknown, number>([...entries, ...entries.map(([, number]): [number, number] => [number, number])])
}

export const COMBO = lamps({ none: 0, fc: 1, fcp: 2, ap: 3, app: 4 })

export const SYNC = lamps({ none: 0, fs: 1, fsp: 2, fsd: 3, fdx: 3, fsdp: 4, fdxp: 4, sync: 5 })
