import type { Database } from '../common/database.ts'
import type { Item, Region } from './schemas/fixture.ts'

/** The items and regions of players, which are imported and then only read. Every method runs inside a transaction of the caller. */
export interface Items {
  /** Sorted by kind, then item; of one kind only if `kind` is given. */
  list(player: number, kind: number | undefined): Item[]
  put(player: number, item: Item): void
  /** Sorted by regionId. */
  regions(player: number): Region[]
  putRegion(player: number, region: Region): void
}

export function createItems(db: Database): Items {
  const all = db.prepare(
    `SELECT kind AS itemKind, item AS itemId, stock, valid FROM items
     WHERE player = ?1 AND (?2 IS NULL OR kind = ?2) ORDER BY kind, item`,
  )
  const put = db.prepare('INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?, ?)')
  const regions = db.prepare(
    'SELECT region AS regionId, play_count AS playCount, created FROM regions WHERE player = ? ORDER BY region',
  )
  const putRegion = db.prepare('INSERT OR REPLACE INTO regions VALUES (?, ?, ?, ?)')

  return {
    list(player, kind) {
      const rows = all.all(player, kind ?? null) as unknown as (Omit<Item, 'isValid'> & { valid: number })[]
      return rows.map(({ valid, ...item }) => ({ ...item, isValid: valid === 1 }))
    },
    put: (player, item) => void put.run(player, item.itemKind, item.itemId, item.stock, item.isValid ? 1 : 0),
    regions: (player) => regions.all(player) as unknown as Region[],
    putRegion: (player, region) => void putRegion.run(player, region.regionId, region.playCount, region.created),
  }
}
