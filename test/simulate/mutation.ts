/** One change of the text of a file. What is to be replaced must occur exactly once. */
export interface Edit {
  readonly file: string
  readonly from: string
  readonly to: string
}

/** A mistake, and where it must be noticed. */
export interface Mutation {
  readonly name: string
  readonly edits: readonly Edit[]
  /** Tried in this order until one fails. */
  readonly noticedBy: readonly Check[]
}

export type Check =
  | 'calendar'
  | 'plans'
  | 'simulation'
  | 'redis'
  | 'reset'
  | 'model'
  | 'one charge'
  | 'sqlite'
  | 'ledger'
  | 'arithmetic'
  | 'clock'
  | 'cost'
  | 'history'
  | 'redis history'
  | 'series'
  | 'recorder'
  | 'overrides'
  | 'bills'
  | 'losses'
  | 'meters'
  | 'grants'

type Change = readonly [from: string, to: string]

/** Makes mistakes that are one change of a file each. @param noticedBy as of `Mutation` */
export function noticed(...noticedBy: Check[]) {
  return (file: string, name: string, [from, to]: Change): Mutation => ({
    name,
    edits: [{ file, from, to }],
    noticedBy,
  })
}

/** The same for a single file. */
export function noticedIn(file: string, ...noticedBy: Check[]) {
  return (name: string, change: Change): Mutation => noticed(...noticedBy)(file, name, change)
}
