/** A number with its noun: `1 line`, `2 lines`. @param many the noun for any number but one. Default `one` with an s */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
