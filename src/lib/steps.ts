/**
 * All steps of a reading, with the event loop and the store free in between. The embedded store makes each step synchronously, so many steps
 * without a break would delay everybody.
 * @param read gets where the last step ended, and `null` to begin
 * @param signal stops between two steps. Default never
 * @throws as `read`, or the reason of the signal
 */
export async function* everyStep<From, Step extends { readonly next: From | null }>(
  read: (from: From | null) => Promise<Step>,
  signal?: AbortSignal,
): AsyncGenerator<Step, void> {
  for (let from: From | null = null; ; ) {
    signal?.throwIfAborted()
    const step: Step = await read(from)
    yield step
    from = step.next
    await breath()
    if (from === null) return
  }
}

/** Leaves the event loop to others for a moment. */
export function breath(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
