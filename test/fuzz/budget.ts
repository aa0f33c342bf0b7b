/** How long to search, and from where: `npm run fuzz` sets both, `npm test` takes the defaults. */

/** @param share of the time, 0 to 1 @param usualSeconds without `npm run fuzz` */
export function budget(share: number, usualSeconds: number) {
  const minutes = Number(process.env.TOLLGATE_FUZZ_MINUTES ?? 0)
  const seed = Number(process.env.TOLLGATE_FUZZ_SEED ?? Date.now() % 2 ** 31)
  const milliseconds = 1000 * (minutes > 0 ? 60 * minutes * share : usualSeconds)
  return {
    seed,
    /** For the test that runs it. */
    timeout: milliseconds + 60_000,
    parameters: {
      seed,
      numRuns: 10_000_000,
      interruptAfterTimeLimit: milliseconds,
      markInterruptAsFailure: false,
    },
  }
}
