/** The same keys, with the words of another language. */
export type Translated<T> = Readonly<Record<keyof T, string>>
