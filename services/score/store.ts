import { type Database, openDatabase } from '../common/database.ts'
import type { Catalogue } from '../music/catalogue.ts'
import { playerRating } from '../music/rating.ts'
import { createGates, type Gates } from './gates.ts'
import { createItems, type Items } from './items.ts'
import { createPlayers, type Players } from './players.ts'
import { createScores, type Scores } from './scores.ts'
import { SCHEMA } from './tables.ts'
import { createTickets, type Tickets } from './tickets.ts'

/** All data of the service, over one database. */
export interface Store extends Pick<Database, 'read' | 'write' | 'close'> {
  readonly players: Players
  readonly scores: Scores
  readonly tickets: Tickets
  readonly items: Items
  readonly gates: Gates
}

/** @throws Error if the file cannot be opened as this service's database */
export function openStore(file: string, busyTimeout?: number): Store {
  const db = openDatabase(file, SCHEMA, busyTimeout)
  return {
    ...db,
    players: createPlayers(db),
    scores: createScores(db),
    tickets: createTickets(db),
    items: createItems(db),
    gates: createGates(db),
  }
}

/** Computes a player's rating anew after a change of scores, inside the same transaction. */
export function rerate({ players, scores }: Store, catalogue: Catalogue, player: number): void {
  players.setRating(player, playerRating(scores.list(player), catalogue))
}
