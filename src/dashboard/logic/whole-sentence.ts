/** A sentence that introduces a list, made complete for places where the list is not shown. */
export function wholeSentence(text: string): string {
  return text.replace(/(?:\. [^.]*)?:$/, '.').replace(/(?:，[^，]*)?：$/, '。')
}
