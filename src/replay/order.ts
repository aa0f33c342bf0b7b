/** If a number moves by more places than this on average, a list counts as out of order. */
const NEARLY = 32

/** Positions of the numbers, the least first. Equal numbers keep their order. Fast if they are nearly in order, as in one log. */
export function orderOf(numbers: Float64Array): Uint32Array {
  const order = new Uint32Array(numbers.length)
  let moves = NEARLY * numbers.length
  for (let i = 0; i < order.length; i++) {
    const number = numbers[i] as number
    let place = i
    for (; place > 0 && (numbers[order[place - 1] as number] as number) > number; place--) {
      order[place] = order[place - 1] as number
      if (--moves < 0) return sorted(numbers)
    }
    order[place] = i
  }
  return order
}

function sorted(numbers: Float64Array): Uint32Array {
  const order = Array.from(numbers, (_, i) => i)
  return Uint32Array.from(order.sort((a, b) => (numbers[a] as number) - (numbers[b] as number) || a - b))
}
