/** Reads the Prometheus text format 0.0.4, strictly: a line that is neither comment nor sample is an error. */
export function parseMetrics(text: string) {
  const samples = new Map<string, number>()
  const types = new Map<string, string>()
  const helps = new Map<string, string>()
  for (const line of text.split('\n')) {
    if (line === '') continue
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][\w:]*) (.+)$/.exec(line)
    if (comment !== null) {
      const into = comment[1] === 'TYPE' ? types : helps
      if (into.has(comment[2] ?? '')) throw new Error(`twice: ${line}`)
      into.set(comment[2] ?? '', comment[3] ?? '')
      continue
    }
    addSample(line, samples, types)
  }
  const value = (sample: string) => samples.get(sample)
  return { text, samples, types, helps, value }
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*",?)*\})? (\S+)$/

function addSample(line: string, samples: Map<string, number>, types: Map<string, string>): void {
  const match = SAMPLE.exec(line)
  if (match === null) throw new Error(`not a sample: ${line}`)
  const [, name = '', labels = '', value = ''] = match
  if (!types.has(name) && !types.has(name.replace(/_(bucket|sum|count)$/, '')))
    throw new Error(`no TYPE before: ${line}`)
  if (samples.has(name + labels)) throw new Error(`twice: ${line}`)
  const number = value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value)
  if (Number.isNaN(number) && !/^nan$/i.test(value)) throw new Error(`not a number: ${line}`)
  samples.set(name + labels, number)
}
