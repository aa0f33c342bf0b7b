import { existsSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { beforeAll, expect, test } from 'vitest'
import { atEnd, endStarted, tempFolder } from './at-end.ts'
import { listening } from './listening.ts'

const ended: string[] = []
const ofFile = tempFolder()
let ofTest: string
let port: number
beforeAll(() => {
  atEnd(() => ended.push('what the file shares'))
  atEnd(() => Promise.reject(new Error('it broke')))
})

test('what a test starts ends behind it: the last first, and each once', async () => {
  atEnd(() => ended.push('the first'))
  atEnd(() => ended.push('the second'))
  const end = atEnd(() => ended.push('the third'))
  await Promise.all([end(), end()])
  ofTest = tempFolder()
  port = await listening(createServer())
  expect([ended, existsSync(ofTest), existsSync(ofFile)]).toEqual([['the third'], true, true])
})

test('what all tests of a file share is there until the last of them', async () => {
  expect(ended).toEqual(['the third', 'the second', 'the first'])
  expect([existsSync(ofTest), existsSync(ofFile)]).toEqual([false, true])
  const refused = await new Promise((resolve) => connect(port, '127.0.0.1').on('error', resolve))
  expect(refused).toMatchObject({ code: 'ECONNREFUSED' })
})

test('an end that fails is told, and keeps nothing else from its end', async () => {
  await expect(endStarted()).rejects.toThrow('not ended: Error: it broke')
  expect([ended.at(-1), existsSync(ofFile)]).toEqual(['what the file shares', false])
})
