/** Bodies that the document shows. */

export const CHUNK = {
  qq: 123456789,
  nickname: 'Tester',
  source: 'sega',
  full_snapshot: true,
  snapshot_id: 'qq-123456789-20260825-01',
  snapshot_final: false,
  records: [
    {
      song_id: 11466,
      title: '群青シグナル',
      type: 'DX',
      level_index: 3,
      level: '13+',
      level_label: 'Master',
      ds: 13.9,
      achievements: 100.5,
      ra: 312,
      rate: 'sssp',
      dxScore: 2800,
      fc: 'ap',
      fs: 'fsd',
    },
  ],
}

export const PARTIAL = {
  status: 'partial',
  snapshot_id: CHUNK.snapshot_id,
  imported: 1,
  updated: 0,
  skipped: 0,
  stored_records: 506,
  errors: [],
}

export const CONFLICT = { detail: `snapshot ${CHUNK.snapshot_id} is not finished`, open_snapshot_id: CHUNK.snapshot_id }
