import { readFile } from 'node:fs/promises'
import type { Catalogue } from '../music/catalogue.ts'
import { type FixtureUser, fixtureFile, type Profile } from './schemas/fixture.ts'
import { rerate, type Store } from './store.ts'

/**
 * Imports data that no endpoint writes, for named users: profiles, items, Gates, regions, free tickets, and scores with
 * play counts. Rows replace those of the same key and others stay, so a second import changes nothing. The data is
 * written in one transaction, so a bad file writes none of it; a new user may have got an empty player already.
 * @param source a file, or the parsed content of one
 * @throws Error if the fixture does not have the right form, or a score names a chart that is not in the catalogue
 * @throws DatabaseBusy
 */
export async function importFixture(
  source: string | object,
  store: Store,
  catalogue: Catalogue,
  now: number,
): Promise<{ users: number }> {
  const content = typeof source === 'string' ? JSON.parse(await readFile(source, 'utf8')) : source
  const users = Object.entries(fixtureFile.parse(content).users)
  for (const [name, user] of users) checkScores(name, user, catalogue)
  const ids = await Promise.all(users.map(([name]) => store.players.idOf(name)))
  await store.write(() => {
    users.forEach(([name, user], i) => {
      importUser(store, catalogue, ids[i] as number, user, now)
      checkPlays(name, store.players.find(ids[i] as number).profile)
    })
  })
  return { users: users.length }
}

function checkScores(name: string, { scores }: FixtureUser, catalogue: Catalogue): void {
  for (const { musicId, level, achievement, deluxscoreMax } of scores) {
    const chart = catalogue.chart(musicId, level)
    const problem =
      chart === undefined
        ? 'no such chart in the catalogue'
        : achievement > chart.maxAchievement
          ? `achievement exceeds ${chart.maxAchievement}`
          : deluxscoreMax > chart.maxDxScore
            ? `deluxscoreMax exceeds ${chart.maxDxScore}`
            : null
    if (problem !== null) throw new Error(`fixture, user ${name}, musicId ${musicId}, level ${level}: ${problem}`)
  }
}

/** Checks the merged profile, because the file may hold only one of the two counts while the other is stored already. */
function checkPlays(name: string, { playCount, currentPlayCount }: Profile): void {
  if (currentPlayCount > playCount)
    throw new Error(`fixture, user ${name}: currentPlayCount ${currentPlayCount} exceeds playCount ${playCount}`)
}

function importUser(store: Store, catalogue: Catalogue, player: number, user: FixtureUser, now: number): void {
  const { players, scores, items, gates, tickets } = store
  players.mergeProfile(player, user.profile)
  for (const { playCount, deluxscoreMax, ...score } of user.scores) {
    scores.put(player, { ...score, dxScore: deluxscoreMax })
    scores.setPlayCount(player, score, playCount)
  }
  for (const item of user.items) items.put(player, item)
  for (const gate of user.gates) gates.put(player, gate, now)
  for (const region of user.regions) items.putRegion(player, region)
  for (const ticket of user.freeTickets) tickets.setFree(player, ticket)
  if (user.ratings !== undefined) players.setRatings(player, user.ratings)
  else if (user.scores.length > 0) rerate(store, catalogue, player)
}
