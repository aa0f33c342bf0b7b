import { expect, it } from 'vitest'
import { createCountedNotes } from '../../src/app/counted-notes.ts'
import { StoreError } from '../../src/quota/quota-store.ts'

it('a process says that it begins with its windows once, after a start and after each reload, as soon as the store hears it', async () => {
  const heard: (boolean | undefined)[] = []
  let isOut = true
  const notes = createCountedNotes(
    {
      noteCounted: async (_names, isAnew) => {
        if (isOut) throw new StoreError('away', 'connection', 'no')
        heard.push(isAnew)
        return false
      },
      forgetRuns: async () => {},
    },
    () => ['3600'],
    1,
  )
  try {
    await notes.start()
    isOut = false
    await expect.poll(() => heard.slice(0, 3)).toEqual([true, false, false])
    await notes.note()
    const again = heard.lastIndexOf(true)
    await expect.poll(() => heard.slice(again, again + 3)).toEqual([true, false, false])
    expect(heard.filter((isAnew) => isAnew)).toHaveLength(2)
  } finally {
    notes.stop()
  }
})
