import { bundledSongs, type Fake, type Platform, type Song, startFake } from './platform.ts'

/**
 * LXNS as far as an update needs it: the scores of a user by a personal key. It behaves as the platform where it hurts: one
 * bad record rejects the whole batch, what is sent is written over better scores, and of a few DX songs only the game's own
 * id is known.
 */

export interface LxnsScore {
  readonly id: number
  readonly type: 'standard' | 'dx' | 'utage'
  readonly level_index: number
  readonly achievements: number
  readonly fc?: string | null
  readonly fs?: string | null
  readonly dx_score: number
}

export interface FakeLxns extends Fake {
  /** By `id/type/level_index`; what another key would see is not kept. */
  readonly scores: Map<string, LxnsScore>
  put(score: LxnsScore): void
}

export interface LxnsOptions {
  readonly key: string
  /** An access token of the same user. */
  readonly accessToken?: string
  readonly songs?: readonly Song[]
  /** musicIds of DX songs that are known by the raw id only. */
  readonly rawOnly?: readonly number[]
}

const PATH = '/api/v0/user/maimai/player/scores'

export async function startLxns({
  key,
  accessToken,
  songs = bundledSongs(),
  rawOnly = [],
}: LxnsOptions): Promise<FakeLxns> {
  const charts = new Set(songs.flatMap((song) => chartsOf(song, rawOnly)))
  const scores = new Map<string, LxnsScore>()
  const put = (score: LxnsScore) => void scores.set(nameOf(score), score)

  const platform: Platform = ({ method, path, headers, body }) => {
    if (path !== PATH) return failure(404, 'not found')
    const { authorization, 'x-user-token': personal } = headers
    if (authorization === undefined ? personal !== key : authorization !== `Bearer ${accessToken}`) {
      return failure(401, 'invalid user token')
    }
    if (method === 'GET') return success([...scores.values()].map(asShown))
    if (method !== 'POST') return failure(405, 'method not allowed')
    const sent = (JSON.parse(body) as { scores: LxnsScore[] }).scores
    for (const score of sent) {
      const problem = problemWith(score, charts)
      const { id, type, level_index } = score
      if (problem !== null) {
        return failure(400, `invalid score (id: ${id}, type: ${type}, level_index: ${level_index}): ${problem}`)
      }
    }
    for (const score of sent) put(score)
    return success(undefined)
  }
  return Object.assign(await startFake('', platform), { scores, put })
}

function success(data: unknown) {
  return { status: 200, body: { success: true, code: 200, ...(data !== undefined && { data }) } }
}

function failure(status: number, message: string) {
  return { status, body: { success: false, code: status, message } }
}

function chartsOf({ musicId, levels }: Song, rawOnly: readonly number[]): string[] {
  if (musicId > 100_000) return [`${musicId}/utage/0`]
  const type = musicId > 10_000 ? 'dx' : 'standard'
  const id = rawOnly.includes(musicId) ? musicId : musicId % 10_000
  return levels.map((level) => `${id}/${type}/${level}`)
}

function nameOf({ id, type, level_index }: LxnsScore): string {
  return `${id}/${type}/${level_index}`
}

const FC = [undefined, null, 'fc', 'fcp', 'ap', 'app']
const FS = [undefined, null, 'sync', 'fs', 'fsp', 'fsd', 'fsdp']

function problemWith(score: LxnsScore, charts: ReadonlySet<string>): string | null {
  if (!charts.has(nameOf(score))) return 'song not found'
  if (typeof score.achievements !== 'number') return 'invalid achievements'
  if (!Number.isInteger(score.dx_score) || score.dx_score < 0) return 'invalid dx_score'
  return FC.includes(score.fc) && FS.includes(score.fs) ? null : 'invalid fc or fs'
}

/** With the members that the platform adds. */
function asShown({ id, type, level_index, achievements, fc = null, fs = null, dx_score }: LxnsScore) {
  return {
    id,
    song_name: 'a song',
    level: '13+',
    level_index,
    achievements,
    fc,
    fs,
    dx_score,
    dx_star: 4,
    dx_rating: 312.9168,
    rate: 'sssp',
    type,
    play_time: null,
    upload_time: '2026-08-06T14:06:26Z',
  }
}
