/** A sentence that introduces a list, where the list is not shown: without what only introduces it. */
export function wholeSentence(text: string): string {
  return text.replace(/(?:\. [^.]*)?:$/, '.').replace(/(?:，[^，]*)?：$/, '。')
}
