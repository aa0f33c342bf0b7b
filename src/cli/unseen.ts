import type { UnseenNames } from '../admin/unseen.ts'
import { StoreError } from '../quota/quota-store.ts'

/** How many names are printed before the number of further ones. */
const MOST_NAMED = 20

/**
 * Prints names that may be misspelt. It is only a hint after the work, so a failing store is no error here.
 * @param before a text that is printed before the sentence, for example the name of a file. Default none
 */
export async function printUnseen(look: () => Promise<UnseenNames>, before = ''): Promise<void> {
  try {
    const found = await look()
    if (found.count > 0) console.error(`${before}${unseenSentence(found)}`)
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
  }
}

function unseenSentence({ first, count }: UnseenNames): string {
  const named = first.slice(0, MOST_NAMED).map(({ line, ...whose }) => {
    const [[kind, id] = []] = Object.entries(whose)
    return `${kind} ${id}${line === undefined ? '' : ` (line ${line})`}`
  })
  const all = count > named.length ? [...named, `${count - named.length} more`] : named
  const names = all.length === 1 ? all.join() : `${all.slice(0, -1).join(', ')} and ${all.at(-1)}`
  const which = count === 1 ? 'this is the id' : 'these are the ids'
  return `Neither a request nor an access key is kept of ${names}, so look whether ${which} that you mean.`
}
