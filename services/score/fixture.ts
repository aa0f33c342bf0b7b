import { readJsonFile } from '../common/json-file.ts'
import type { Catalogue } from '../music/catalogue.ts'
import { readAt } from '../music/import/place.ts'
import { type FixtureUser, fixtureFile, type Profile } from './schemas/fixture.ts'
import { rerate, type Store } from './store.ts'

/**
 * Imports data that no endpoint writes, for named users: profiles, items, Gates, regions, free tickets, and scores with
 * play counts. Rows replace those of the same key and others stay, so a second import changes nothing. All of it is
 * written in one transaction, so nothing is left of a bad file, not even its new users.
 * @param source a file, or the parsed content of one
 * @throws Error that names the file, if it does not have the right form, or a score names a chart that is not in the catalogue
 * @throws DatabaseBusy
 */
export async function importFixture(
  source: string | object,
  store: Store,
  catalogue: Catalogue,
  now: number,
): Promise<{ users: number }> {
  const file = typeof source === 'string' ? source : 'fixture'
  const read = readAt(fixtureFile, typeof source === 'string' ? await readJsonFile(source) : source, [])
  if ('problems' in read) throw new Error(read.problems.map((line) => `${file}: ${line}`).join('\n'))
  const users = Object.entries(read.value.users)
  await store.write(() => {
    for (const [name, user] of users) {
      const where = `${file}: user ${name}`
      checkScores(where, user, catalogue)
      const player = store.players.enter(name)
      importUser(store, catalogue, player, user, now)
      checkPlays(where, store.players.find(player).profile)
    }
  })
  return { users: users.length }
}

function checkScores(where: string, { scores }: FixtureUser, catalogue: Catalogue): void {
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
    if (problem !== null) throw new Error(`${where}, musicId ${musicId}, level ${level}: ${problem}`)
  }
}

/** Checks the merged profile, because the file may hold only one of the two counts while the other is stored already. */
function checkPlays(where: string, { playCount, currentPlayCount }: Profile): void {
  if (currentPlayCount > playCount)
    throw new Error(`${where}: currentPlayCount ${currentPlayCount} exceeds playCount ${playCount}`)
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
