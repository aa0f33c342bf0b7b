import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { atEnd, tempFolder } from '../../../test/setup/at-end.ts'
import { openHome } from '../../demo/home.ts'
import { type Services, startServices } from '../../demo/services.ts'

const ANY = { host: '127.0.0.1', port: 0 }

function start(folder: string): Promise<Services> {
  return startServices(openHome(folder), { score: ANY, sync: ANY, chart: ANY, pages: [] })
}

async function ask({ score }: Services, path: string, body: object = {}) {
  const headers = { 'content-type': 'application/json', 'x-backend-secret': score.secret, 'x-tollgate-user': 'alice' }
  const response = await fetch(score.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  const { businessData } = (await response.json()) as { businessData: { length: number } }
  return businessData
}

test('the demo has its scores also if its first start was killed before they were there', async () => {
  const folder = tempFolder()
  writeFileSync(openHome(folder).path('score.db'), '')
  const services = await start(folder)
  atEnd(() => services.close())
  expect(await ask(services, '/v1/user/music')).toMatchObject({ length: 1 })
})

test('scores that a user of the demo has deleted do not come back with the next start', async () => {
  const folder = tempFolder()
  const first = await start(folder)
  expect(await ask(first, '/v1/music/clear', { confirm: true })).toEqual({ deleted: 1 })
  await first.close()
  const second = await start(folder)
  atEnd(() => second.close())
  expect(await ask(second, '/v1/user/music')).toMatchObject({ length: 0 })
})
