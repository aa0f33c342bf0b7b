import { hashOf, type Page } from './location.ts'

/** Where the search over all pages leads. */

export interface Goal {
  /** `userById`: of a user whom nobody knows. */
  readonly kind: 'page' | 'user' | 'userById' | 'organisation' | 'route'
  readonly name: string
  readonly href: string
}

export interface JumpSources {
  /** Each with its name in the language of the page, in the order of the navigation. */
  readonly pages: readonly (readonly [Page, string])[]
  readonly users: readonly string[]
  /** Whether the users are those of what is typed; before that nobody knows whether one begins with it. */
  readonly areUsersRead: boolean
  readonly organisations: readonly string[]
  /** Rules of the route map. */
  readonly routes: readonly string[]
}

const MOST_ROUTES = 5

/**
 * What the typed text may mean: pages, users, organisations, routes. Names that begin with it come first. If it begins the name of no
 * known user, a user of that very id is the last: overrides of such a user can be set.
 */
export function goalsOf(typed: string, sources: JumpSources): readonly Goal[] {
  const text = typed.trim()
  const pages = found(text, sources.pages, ([page, name]) => `${name} ${page}`).map(
    ([page, name]): Goal => ({ kind: 'page', name, href: hashOf(page) }),
  )
  if (text === '') return pages
  const routes = found(text, sources.routes, (match) => match).slice(0, MOST_ROUTES)
  const isKnown = sources.users.some((name) => name.toLowerCase().startsWith(text.toLowerCase()))
  const byId: readonly Goal[] =
    isKnown || !sources.areUsersRead ? [] : [{ kind: 'userById', name: text, href: hashOf('users', text) }]
  return [
    ...pages,
    ...sources.users.map((name): Goal => ({ kind: 'user', name, href: hashOf('users', name) })),
    ...sources.organisations.map((name): Goal => ({ kind: 'organisation', name, href: hashOf('organisations', name) })),
    ...routes.map((name): Goal => ({ kind: 'route', name, href: hashOf('routes', null, { route: name }) })),
    ...byId,
  ]
}

/** Those whose text has it, whatever its letter case; first those that begin with it. */
function found<T>(text: string, all: readonly T[], textOf: (one: T) => string): readonly T[] {
  const wanted = text.toLowerCase()
  const at = (one: T): number => textOf(one).toLowerCase().indexOf(wanted)
  const some = all.filter((one) => at(one) >= 0)
  return [...some.filter((one) => at(one) === 0), ...some.filter((one) => at(one) > 0)]
}
