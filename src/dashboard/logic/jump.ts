import { hashOf, type Page } from './location.ts'

/** The results of the search over all pages, and what it can do. */

export interface Goal {
  /** `userById`: an unknown user. A `look` is a language or colour scheme. */
  readonly kind: 'page' | 'user' | 'userById' | 'organisation' | 'route' | 'look'
  readonly name: string
  /** Empty for a look. */
  readonly href: string
  /** What to do with the user or organisation. */
  readonly verb?: Verb
  readonly look?: Look
}

export const VERBS = ['half', 'double', 'block', 'refusals'] as const
/** `half` and `double` raise limits by half or to the double for a while, after a confirmation. */
export type Verb = (typeof VERBS)[number]

export const LOOKS = ['dark', 'light', 'en', 'zh'] as const
export type Look = (typeof LOOKS)[number]

/** The typed text, which may begin with a verb: `raise bob`, `open refusals of bob`. */
export interface Typed {
  readonly verb: Verb | null
  /** The text after the verb. */
  readonly name: string
}

/** @param words for each verb, in lower case */
export function typedOf(text: string, words: Readonly<Record<Verb, readonly string[]>>): Typed {
  const [, said = ''] = /^\s*(?:open\s+)?(.*?)\s*$/is.exec(text) ?? []
  for (const verb of VERBS) {
    for (const word of words[verb]) {
      // After a word in Latin letters there must be a blank, but not after a Chinese one.
      const isSaid = said.toLowerCase().startsWith(word) && (!/\w$/.test(word) || /^\s/.test(said.slice(word.length)))
      const name = said.slice(word.length).replace(/^\s+(?:of\s+)?/i, '')
      if (isSaid && name !== '') return { verb, name }
    }
  }
  return { verb: null, name: text.trim() }
}

export interface JumpSources {
  /** Each page with its name in the language of the dashboard, in the order of the navigation. */
  readonly pages: readonly (readonly [Page, string])[]
  readonly users: readonly string[]
  /** Whether `users` were read for the present text. Otherwise it is unknown whether a user's name begins with this text. */
  readonly areUsersRead: boolean
  readonly organisations: readonly string[]
  /** Rules of the route map. */
  readonly routes: readonly string[]
  /** Each look with the name by which it is found. */
  readonly looks: readonly (readonly [Look, string])[]
}

const MOST_ROUTES = 5

/**
 * What the typed text may mean: pages, users, organisations, routes and looks. Names that begin with it come first. If no known user's name
 * begins with it, a user with exactly this id comes last, because such a user can have an override.
 */
export function goalsOf({ verb, name: text }: Typed, sources: JumpSources): readonly Goal[] {
  if (verb !== null) return deedsOf(verb, text, sources)
  const pages = found(text, sources.pages, ([page, name]) => `${name} ${page}`).map(
    ([page, name]): Goal => ({ kind: 'page', name, href: hashOf(page) }),
  )
  if (text === '') return pages
  const { users, organisations } = namedIn(text, sources)
  const routes = found(text, sources.routes).slice(0, MOST_ROUTES)
  const isKnown = users.some((name) => name.toLowerCase().startsWith(text.toLowerCase()))
  const byId: readonly Goal[] =
    isKnown || !sources.areUsersRead ? [] : [{ kind: 'userById', name: text, href: hashOf('users', text) }]
  return [
    ...pages,
    ...users.map((name): Goal => ({ kind: 'user', name, href: hashOf('users', name) })),
    ...organisations.map((name): Goal => ({ kind: 'organisation', name, href: hashOf('organisations', name) })),
    ...routes.map((name): Goal => ({ kind: 'route', name, href: hashOf('routes', null, { route: name }) })),
    ...found(text, sources.looks, ([, name]) => name).map(
      ([look, name]): Goal => ({ kind: 'look', name, href: '', look }),
    ),
    ...byId,
  ]
}

/** The action for each owner whose name contains the text, or else for an unknown user with exactly this id. */
function deedsOf(verb: Verb, text: string, { areUsersRead, ...sources }: JumpSources): readonly Goal[] {
  const { users, organisations } = namedIn(text, sources)
  const deed = (kind: 'user' | 'organisation', name: string): Goal => {
    const href =
      verb === 'refusals' ? hashOf('refusals', null, { [kind]: name }) : hashOf(`${kind}s`, name, { do: verb })
    return { kind, name, href, verb }
  }
  const isKnown = users.length + organisations.length > 0
  const ids = isKnown || !areUsersRead ? users : [text]
  return [...ids.map((name) => deed('user', name)), ...organisations.map((name) => deed('organisation', name))]
}

/** The owners whose names contain the text. The API may have been asked for a shorter text, and so may have returned wrong owners. */
function namedIn(text: string, { users, organisations }: Pick<JumpSources, 'users' | 'organisations'>) {
  return { users: found(text, users), organisations: found(text, organisations) }
}

/** Entries whose text contains the wanted text, in any letter case. Those that begin with it come first. */
function found<T>(text: string, all: readonly T[], textOf: (one: T) => string = String): readonly T[] {
  const wanted = text.toLowerCase()
  const at = (one: T): number => textOf(one).toLowerCase().indexOf(wanted)
  const some = all.filter((one) => at(one) >= 0)
  return [...some.filter((one) => at(one) === 0), ...some.filter((one) => at(one) > 0)]
}
