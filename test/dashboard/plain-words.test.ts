import { expect, test } from 'vitest'
import { en, enReasons } from '../../src/dashboard/i18n/en.ts'
import { zh, zhReasons } from '../../src/dashboard/i18n/zh.ts'

/** The words of the page: docs and pages have one word for each thing. */

const english = Object.entries({ ...en, ...enReasons })
const chinese = Object.entries({ ...zh, ...zhReasons })

/** Names, keys of a keyboard, and what stands so in a file, a log or a request. */
const LATIN = new Set([
  ...['API', 'CSV', 'ID', 'JSON', 'Redis', 'Tollgate', 'UTC', 'UTF-8', 'admin', 'p95', '4xx', '5xx'],
  ...['C', 'Ctrl', 'Page', 'Up', 'Down'],
  ...['admin.token', 'admin.tokens', 'auth.shadow', 'quota.exempt', 'tollgate.log', 'usage.zone'],
  ...['configuration', 'loaded', 'rules', 'hash', 'public', 'unmatched', 'forward', 'unlimited'],
])

const latinWords = (text: string): readonly string[] => text.replace(/\{\w+\}/g, ' ').match(/\d*[A-Za-z][\w.-]*/g) ?? []

test('a Chinese text has no English words but names, keys and what stands so in a file', () => {
  const wrong = chinese.flatMap(([key, text]) =>
    latinWords(text).flatMap((word) => (LATIN.has(word) ? [] : [`${key}: ${word}`])),
  )
  expect(wrong).toEqual([])
})

test('a Chinese text has characters of Chinese, unless it has none of words at all', () => {
  const without = chinese.filter(([, text]) => !/\p{Script=Han}/u.test(text)).map(([, text]) => text)
  expect(without.filter((text) => latinWords(text).some((word) => !LATIN.has(word)))).toEqual([])
})

test('no Chinese text calls a credential or what a request costs 令牌: they are 访问密钥 and 额度', () => {
  expect(chinese.filter(([, text]) => text.includes('令牌'))).toEqual([])
})

/** What readers did not understand, or words for which the page has another one. */
const BANNED: readonly RegExp[] = [
  /\bmade by\b/i,
  /\btake the override away|taken away\b/i,
  /\bgive.* back to the file/i,
  /\benough requests for it to move/i,
  /\bwhat would become of/i,
  /\bcannot be taken back/i,
  /\bblocked now too/i,
  /\bunder way\b/i,
  /\bfailed forwards/i,
  /\bwould be refused$/i,
  /\buser on whose quota/i,
  /^no room$/i,
  /\bgateway tokens?\b/i,
  /\b(?:answer|answers|answered|tell|tells|told)\b/i,
  /\bbackend\b/i,
]

test('no English text has a word for which the page has a plainer one', () => {
  const wrong = english.filter(([, text]) => BANNED.some((words) => words.test(text)))
  expect(wrong).toEqual([])
})

/** Of the sign-in, where the configuration calls it so, and of roles. */
const OF_ADMIN =
  /^(?:signIn\.|app\.viewer$|quotas\.viewer$|error\.(?:unauthorized|too_many_attempts|no_admin_token|forbidden)$)/
/** What a request costs. */
const OF_QUOTA =
  /^(?:now\.tokens|now\.windowsText|word\.tokensUsed|history\.|top\.|users\.|quotas\.baselinesText|plans\.matrixText|yesterday\.|distribution\.|routes\.cost|quick\.|override\.limitsText|grants\.|audit\.(?:say\.)?grant|paid_by_grants|organisations\.override\.limitsText|new_user)/

test('a token is what a request costs, or the one of the sign-in: what Tollgate issues is an access key', () => {
  const named = english.filter(([, text]) => /\btokens?\b/i.test(text)).map(([key]) => key)
  expect(named.filter((key) => !OF_ADMIN.test(key) && !OF_QUOTA.test(key))).toEqual([])
  expect(named.filter((key) => key.startsWith('keys.'))).toEqual([])
})

test('an English text has sentences of at most 25 words', () => {
  const long = english.filter(([, text]) => text.split(/[.:;?] |\n/).some((part) => part.split(/\s+/).length > 25))
  expect(long.map(([key]) => key)).toEqual([])
})
