import { bundledSongs, type Fake, type Platform, type Song, startFake } from './platform.ts'

/**
 * Diving-Fish as far as an update needs it: the records of a user by an import token. It behaves as the platform where it
 * hurts: what it does not know is left out without a word, what is sent is written over better records, songs are found by
 * title and type, and a record without its key members breaks the whole request.
 */

export interface FishRecord {
  readonly song_id: number
  readonly title: string
  readonly type: 'SD' | 'DX'
  readonly level_index: number
  readonly achievements: number
  readonly dxScore: number
  readonly fc: string
  readonly fs: string
}

export interface FakeFish extends Fake {
  /** By `song_id/level_index`. */
  readonly records: Map<string, FishRecord>
  put(record: FishRecord): void
}

export interface FishOptions {
  readonly token: string
  /** An access token of the same user. */
  readonly accessToken?: string
  readonly songs?: readonly Song[]
}

const BASE = '/api/maimaidxprober'
const UTAGE = 10

export async function startFish({ token, accessToken, songs = bundledSongs() }: FishOptions): Promise<FakeFish> {
  const records = new Map<string, FishRecord>()
  const put = (record: FishRecord) => void records.set(`${record.song_id}/${record.level_index}`, record)

  const update = (body: string) => {
    const sent: unknown = JSON.parse(body)
    if (!Array.isArray(sent)) return { status: 404, body: { message: '导入数据格式有误' } }
    if (sent.length === 0) return { status: 200, body: { message: '更新成功' } }
    const known = []
    for (const record of sent) {
      if (!hasKey(record)) return { status: 500, body: '<!doctype html><h1>Internal Server Error</h1>' }
      const song = songs.find(({ musicId, title }) => title === record.title && typeOf(musicId) === record.type)
      if (song !== undefined && indexesOf(song).includes(record.level_index)) known.push(recordOf(record, song.musicId))
    }
    const before = records.size
    for (const record of known) put(record)
    const creates = records.size - before
    return { status: 200, body: { message: '更新成功', updates: known.length - creates, creates } }
  }

  const platform: Platform = ({ method, path, headers, body }) => {
    const { authorization, 'import-token': own } = headers
    if (authorization !== undefined && authorization !== `Bearer ${accessToken}`)
      return { status: 401, body: { status: 'error', message: 'invalid access token' } }
    if (authorization === undefined && own !== token)
      return { status: 400, body: { status: 'error', message: '导入token有误' } }
    if (`${method} ${path}` === `GET ${BASE}/player/records`)
      return { status: 200, body: asShown([...records.values()]) }
    if (`${method} ${path}` === `POST ${BASE}/player/update_records`) return update(body)
    return { status: 404, body: { message: 'not found' } }
  }
  return Object.assign(await startFake(BASE, platform), { records, put })
}

type Sent = Omit<FishRecord, 'song_id'>

function hasKey(record: unknown): record is Sent {
  return ['title', 'type', 'level_index'].every((key) => Object.hasOwn(Object(record), key))
}

function typeOf(musicId: number): 'SD' | 'DX' {
  return musicId < 10_000 ? 'SD' : 'DX'
}

function indexesOf({ levels }: Song): number[] {
  return levels.map((level) => (level === UTAGE ? 0 : level))
}

function recordOf({ title, type, level_index, achievements, dxScore, fc, fs }: Sent, song_id: number): FishRecord {
  return {
    song_id,
    title,
    type,
    level_index,
    achievements: Math.min(achievements, 101),
    dxScore,
    fc: ['fc', 'fcp', 'ap', 'app'].includes(fc) ? fc : '',
    fs: ({ fdx: 'fsd', fdxp: 'fsdp' } as Record<string, string>)[fs] ?? (/^(sync|fs|fsp|fsd|fsdp)$/.test(fs) ? fs : ''),
  }
}

/** With the members that the platform adds. */
function asShown(records: readonly FishRecord[]) {
  return {
    username: 'sample_username',
    nickname: 'sample',
    rating: 15932,
    additional_rating: 13,
    plate: '',
    records: records.map(({ achievements, dxScore, fc, fs, level_index, song_id, title, type }) => ({
      achievements,
      ds: 8.5,
      dxScore,
      fc,
      fs,
      level: '8',
      level_index,
      level_label: 'Advanced',
      ra: 191,
      rate: 'sssp',
      song_id,
      title,
      type,
    })),
  }
}
