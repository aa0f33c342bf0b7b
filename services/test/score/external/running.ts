import { atEnd } from '../../../../test/setup/at-end.ts'
import type { MusicDetail } from '../../../score/scores.ts'
import type { ScoreServiceOptions } from '../../../score/service.ts'
import { type FishOptions, startFish } from '../../fakes/fish.ts'
import { type LxnsOptions, startLxns } from '../../fakes/lxns.ts'
import type { Trouble } from '../../fakes/platform.ts'
import { type Sent, startScore } from '../harness.ts'

export const KEY = 'canary-key-of-lxns-4f1c'
export const TOKEN = 'canary-token-of-diving-fish-9a77'

export interface RunningOptions extends Partial<Omit<ScoreServiceOptions, 'external'>> {
  /** Timeouts, sizes and batches, over the defaults. */
  readonly limits?: object
  readonly lxnsOptions?: Partial<LxnsOptions>
  readonly fishOptions?: Partial<FishOptions>
  readonly batch?: { readonly lxns?: number; readonly fish?: number }
}

/** The score service between its users and both platforms. */
export async function startUpdates(options: RunningOptions = {}) {
  const { limits = {}, lxnsOptions, fishOptions, batch = {}, ...rest } = options
  const lxns = await startLxns({ key: KEY, ...lxnsOptions })
  const fish = await startFish({ token: TOKEN, ...fishOptions })
  for (const fake of [lxns, fish]) atEnd(() => fake.close())
  const external = {
    lxns: { base_url: lxns.url, ...(batch.lxns !== undefined && { batch: batch.lxns }) },
    fish: { base_url: fish.url, ...(batch.fish !== undefined && { batch: batch.fish }) },
    ...limits,
  }
  const score = await startScore({ ...rest, external })
  const updateLxns = (more: object = {}, sent?: Sent) => score.post('/v1/update-lx', { key: KEY, ...more }, sent)
  const updateFish = (more: object = {}, sent?: Sent) => score.post('/v1/update-fish', { token: TOKEN, ...more }, sent)

  /** All scores of a user, by `musicId/level`. */
  async function scores(user = 'alice') {
    const groups: { userMusicDetailList: MusicDetail[] }[] = (await score.post('/v1/user/music', {}, { user })).json
      .businessData.userMusicList
    const list = groups.flatMap(({ userMusicDetailList }) => userMusicDetailList)
    return Object.fromEntries(list.map((one) => [`${one.musicId}/${one.level}`, one]))
  }

  /** Both platforms misbehave. */
  function trouble(what: Trouble | null): void {
    lxns.trouble = what
    fish.trouble = what
  }
  return { ...score, lxns, fish, updateLxns, updateFish, scores, trouble }
}
