/** The duration of a hold, or of a star's movement. */
export interface Duration {
  /** The wait of a slide before its star moves. It has no meaning for a hold. */
  readonly wait: number
  readonly seconds: number
}

/** The longest chart, wait and duration, in seconds. */
export const MAX_SECONDS = 3600

/** A number in the notation of charts. */
export const NUMBER = String.raw`\d{1,9}(?:\.\d{1,15})?|\.\d{1,15}`

/** `wait##`, `bpm#` or `#`, and then a share of a whole note (`n:k`) or seconds. */
const FORM = new RegExp(
  `^(?:(?<wait>${NUMBER})##)?(?:(?<bpm>${NUMBER})?(?<hash>#))?(?:(?<n>${NUMBER}):(?<k>${NUMBER})|(?<s>${NUMBER}))$`,
)

/** The length of k notes of 1/n, in seconds. */
export function noteLength(bpm: number, n: number, k: number): number {
  return (k * 240) / (n * bpm)
}

/**
 * Reads the text between brackets: `[n:k]`, `[#s]`, `[bpm#n:k]`, and for slides also `[bpm#s]`, `[wait##s]`,
 * `[wait##n:k]` and `[wait##bpm#n:k]`. Without another wait a slide waits one beat of the bpm in the brackets, or of
 * the chart.
 * @returns the fault as a sentence if the text is wrong
 */
export function parseDuration(text: string, chartBpm: number, of: 'hold' | 'slide'): Duration | string {
  const { wait, bpm, hash, n, k, s } = FORM.exec(text)?.groups ?? {}
  const forSlides = wait !== undefined || (bpm !== undefined && s !== undefined)
  const nonsense =
    s === undefined ? hash !== undefined && bpm === undefined : (hash === undefined) === (wait === undefined)
  if ((n === undefined && s === undefined) || nonsense) {
    return `[${text}] is no duration; write [4:2] for two quarter notes or [#1.5] for seconds`
  }
  if (of === 'hold' && forSlides) return `[${text}] is a duration of slides; a hold has [n:k], [#seconds] or [bpm#n:k]`
  const ownBpm = bpm === undefined ? chartBpm : Number(bpm)
  if (ownBpm === 0 || Number(n) === 0) return `[${text}] divides by zero`
  const seconds = s === undefined ? noteLength(ownBpm, Number(n), Number(k)) : Number(s)
  const waits = wait === undefined ? noteLength(ownBpm, 4, 1) : Number(wait)
  if (!(seconds <= MAX_SECONDS && waits <= MAX_SECONDS)) return `[${text}] is longer than an hour`
  return { wait: waits, seconds }
}
