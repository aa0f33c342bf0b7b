import { expect, it } from 'vitest'
import { isKnown, tagOf } from '../../src/lib/representation.ts'

const tag = tagOf('a page')

it.each([tag, tag.slice(2), `"other", ${tag.slice(2)}`, `W/"other" , ${tag}`, '*', ' * '])(
  'a client that names %s has the response already',
  (ifNoneMatch) => {
    expect(isKnown(tag, ifNoneMatch)).toBe(true)
  },
)

it.each([undefined, '', '"other"', `${tag.slice(0, -2)}"`, tagOf('another page'), `W/${tag}`])(
  'a client that names %s does not have the response yet',
  (ifNoneMatch) => {
    expect(isKnown(tag, ifNoneMatch)).toBe(false)
  },
)
