/** Keeps the first of many values in an order, and holds only those in memory. */
export interface Top<T> {
  add(value: T): void
  /** The values in their order. */
  values(): T[]
}

/**
 * A heap whose root is the last of the kept values. To add a value costs one comparison if it comes after the root, and
 * otherwise the logarithm of their number.
 * @param most how many values are kept, at least 1
 * @param order as for `sort`
 */
export function createTop<T>(most: number, order: (a: T, b: T) => number): Top<T> {
  const heap: T[] = []
  const isBehind = (i: number, j: number) => order(heap[i] as T, heap[j] as T) > 0

  function swap(i: number, j: number): void {
    const value = heap[i] as T
    heap[i] = heap[j] as T
    heap[j] = value
  }

  function rise(from: number): void {
    for (let i = from; i > 0; ) {
      const parent = (i - 1) >> 1
      if (!isBehind(i, parent)) return
      swap(i, parent)
      i = parent
    }
  }

  function sink(): void {
    for (let i = 0; ; ) {
      let last = i
      for (const child of [2 * i + 1, 2 * i + 2]) if (child < heap.length && isBehind(child, last)) last = child
      if (last === i) return
      swap(i, last)
      i = last
    }
  }

  return {
    add(value) {
      if (heap.length < most) {
        heap.push(value)
        rise(heap.length - 1)
      } else if (order(value, heap[0] as T) < 0) {
        heap[0] = value
        sink()
      }
    },
    values: () => heap.toSorted(order),
  }
}
