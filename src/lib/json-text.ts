/** A text that may be JSON. It is parsed when it is first read, and only once for all readers. */
export class JsonText {
  readonly text: string
  /** The length of the text with the bytes that were held around it. */
  readonly bytes: number
  #values: readonly string[] | null = null

  constructor(text: string, bytes: number) {
    this.text = text
    this.bytes = bytes
  }

  /** The text of the value, or of each element of a list: Gemini streams a list. None if the text is no JSON. */
  get values(): readonly string[] {
    this.#values ??= valuesIn(this.text)
    return this.#values
  }
}

function valuesIn(text: string): readonly string[] {
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? value.map((item) => JSON.stringify(item)) : [text.trim()]
  } catch {
    return []
  }
}
