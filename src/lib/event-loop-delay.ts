import { createHistogram } from 'node:perf_hooks'
import { repeat } from './repeat.ts'

/** Measures how late timers fire: often while requests come, and otherwise once a second, so that a resting process is not woken. */
export interface EventLoopDelay {
  /**
   * How late the event loop lastingly is, in milliseconds. The least of the last samples counts: one long pause (a garbage
   * collection, a stopped process) is over when it is noticed, but overload stays.
   */
  lasting(): number
  /** Returns the same as `lasting`, and notes that a request has come. As long as requests come, samples are taken often. */
  ofRequest(): number
  /** Figures of the samples since the last call, in seconds. Without a new sample those of the call before are given again. */
  takeFigures(): DelayFigures
  stop(): void
}

export interface DelayFigures {
  readonly min: number
  readonly max: number
  readonly mean: number
  readonly stddev: number
  readonly p50: number
  readonly p90: number
  readonly p99: number
}

const OFTEN_MS = 50
const SELDOM_MS = 1000
const SAMPLES = 3
/** After this many samples without a request, samples become rare. After a late sample at least as many are taken often as `lasting` needs. */
const UNUSED = 20
const LATE_MS = 10
/** Precision of the histogram: 1 % of each figure. Three digits take ten times the memory. */
const DIGITS = 2

const NO_DELAY: DelayFigures = { min: 0, max: 0, mean: 0, stddev: 0, p50: 0, p90: 0, p99: 0 }

export function createEventLoopDelay(): EventLoopDelay {
  const samples = new Array<number>(SAMPLES).fill(0)
  const histogram = createHistogram({ figures: DIGITS })
  let lasting = 0
  let unused = 0
  let isResting = false
  let figures = NO_DELAY
  let timer: NodeJS.Timeout
  let stopResting = (): void => {}
  measureOften()

  function measureOften(): void {
    const due = performance.now() + OFTEN_MS
    timer = setTimeout(() => {
      measured(Math.max(0, performance.now() - due))
      if (unused > UNUSED) rest()
      else measureOften()
    }, OFTEN_MS).unref()
  }

  function measured(late: number): void {
    samples.shift()
    samples.push(late)
    lasting = Math.min(...samples)
    histogram.record(Math.max(1, Math.round(late * 1e6)))
    unused = late > LATE_MS ? Math.min(unused, UNUSED - SAMPLES) : unused + 1
  }

  function rest(): void {
    isResting = true
    stopResting = repeat((late) => {
      measured(late)
      if (unused <= UNUSED) wake()
    }, SELDOM_MS)
  }

  function wake(): void {
    isResting = false
    stopResting()
    measureOften()
  }

  return {
    lasting: () => lasting,
    ofRequest() {
      unused = 0
      if (isResting) wake()
      return lasting
    },
    takeFigures() {
      if (histogram.count > 0) figures = figuresOf(histogram)
      histogram.reset()
      return figures
    },
    stop() {
      clearTimeout(timer)
      stopResting()
    },
  }
}

function figuresOf(histogram: ReturnType<typeof createHistogram>): DelayFigures {
  const seconds = (nanoseconds: number): number => nanoseconds / 1e9
  const at = (percent: number): number => seconds(histogram.percentile(percent))
  return {
    min: seconds(histogram.min),
    max: seconds(histogram.max),
    mean: seconds(histogram.mean),
    stddev: seconds(histogram.stddev),
    p50: at(50),
    p90: at(90),
    p99: at(99),
  }
}
