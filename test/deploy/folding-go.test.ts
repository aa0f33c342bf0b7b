import { join } from 'node:path'
import { test } from 'vitest'
import { expectNoCheaperSpelling, run } from '../routing/spellings.ts'

test('the ServeMux of Go takes no spelling for a dear path that costs less', async () => {
  const file = join(import.meta.dirname, '../routing/services/service.go')
  await expectNoCheaperSpelling({ name: 'Go', match: {}, start: () => run('go', 'run', file) })
})
