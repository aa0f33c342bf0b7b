import { hashOf, type Page } from './location.ts'

/** Where the search over all pages leads. */

export interface Goal {
  readonly kind: 'page' | 'user' | 'organisation' | 'route'
  readonly name: string
  readonly href: string
}

export interface JumpSources {
  /** Each with its name in the language of the page, in the order of the navigation. */
  readonly pages: readonly (readonly [Page, string])[]
  readonly users: readonly string[]
  readonly organisations: readonly string[]
  /** Rules of the route map. */
  readonly routes: readonly string[]
}

const MOST_ROUTES = 5

/**
 * What the typed text may mean: pages, users, organisations, routes. Names that begin with it come first. A user of that very name is
 * among them also if nobody knows one: overrides of such a user can be set.
 */
export function goalsOf(typed: string, sources: JumpSources): readonly Goal[] {
  const text = typed.trim()
  const pages = found(text, sources.pages, ([page, name]) => `${name} ${page}`).map(
    ([page, name]): Goal => ({ kind: 'page', name, href: hashOf(page) }),
  )
  if (text === '') return pages
  const routes = found(text, sources.routes, (match) => match).slice(0, MOST_ROUTES)
  const users = sources.users.includes(text) ? sources.users : [...sources.users, text]
  return [
    ...pages,
    ...users.map((name): Goal => ({ kind: 'user', name, href: hashOf('users', name) })),
    ...sources.organisations.map((name): Goal => ({ kind: 'organisation', name, href: hashOf('organisations', name) })),
    ...routes.map((name): Goal => ({ kind: 'route', name, href: hashOf('routes', null, { route: name }) })),
  ]
}

/** Those whose text has it, whatever its letter case; first those that begin with it. */
function found<T>(text: string, all: readonly T[], textOf: (one: T) => string): readonly T[] {
  const wanted = text.toLowerCase()
  const at = (one: T): number => textOf(one).toLowerCase().indexOf(wanted)
  const some = all.filter((one) => at(one) >= 0)
  return [...some.filter((one) => at(one) === 0), ...some.filter((one) => at(one) > 0)]
}
