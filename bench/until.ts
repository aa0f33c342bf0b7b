/** Repeats an action until it succeeds: a store connects in the background. */
export async function until(action: () => Promise<void>, tries = 100): Promise<void> {
  for (let left = tries; ; left--) {
    try {
      return await action()
    } catch (error) {
      if (left === 0) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}
