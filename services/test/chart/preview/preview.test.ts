import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Chart, loadLibrary } from '../../../chart/library.ts'
import { drawFrame } from '../../../chart/preview/frame.ts'
import { drawStrip } from '../../../chart/preview/strip.ts'
import { chartsFolder, SAMPLE, startCharts } from '../harness.ts'
import { attributesOf, inkOf, readXml } from './xml.ts'

const CHART = '/api/v1/charts/1466:dx:5/preview.svg'
const TITLE = `<script>alert("1")</script> & 'é'`

async function startWith(title: string, body: string) {
  const text = `&title=${title}\n&artist=<i>A</i>\n&des=<D>\n&lv_5=<13>\n&inote_5=${body}\n`
  return startCharts({ songs: { 11466: text } })
}

/** The drawn parts of a class, in the frame at a time. */
async function frameOf(body: string, t: number) {
  const { ask } = await startWith('T', `(60){4}${body},E`)
  const { text } = await ask(`${CHART}?t=${t}`)
  const xml = readXml(text)
  return { text, of: (name: string) => inkOf(xml, name) }
}

describe('a preview', () => {
  it.each(['', '?t=2.4', '?w=120', '?t=0&w=1200', '?t=36000'])(
    '%s is a picture that cannot do anything',
    async (query) => {
      const { ask } = await startWith(TITLE, '(120)1-5[4:1],E')
      const { status, headers, text } = await ask(CHART + query)
      expect([status, headers.get('content-type')]).toEqual([200, 'image/svg+xml'])
      expect(headers.get('content-security-policy')).toBe("default-src 'none'; style-src 'unsafe-inline'")
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      const elements = readXml(text)
      expect(elements.map(({ name }) => name)).not.toContain('script')
      for (const { name, attributes } of elements) {
        expect(['svg', 'title', 'style', 'rect', 'circle', 'polygon', 'path', 'text', 'g']).toContain(name)
        for (const attribute of Object.keys(attributes)) expect(attribute).not.toMatch(/^on|href|^style$/)
      }
      expect(text).not.toMatch(/url\(|@import|http(?!:\/\/www\.w3\.org\/2000\/svg")/)
      expect(elements.map(({ text: content }) => content)).toContain(TITLE)
    },
  )

  it('a preview has the width that was asked for, and its own proportions', async () => {
    const { ask } = await startCharts()
    const sizeOf = async (query: string) => {
      const { width, height, viewBox } = attributesOf(readXml((await ask(CHART + query)).text), 'svg')
      return [width, height, viewBox]
    }
    expect(await sizeOf('?t=1')).toEqual(['480', '518', '0 0 400 432'])
    expect(await sizeOf('?t=1&w=1200')).toEqual(['1200', '1296', '0 0 400 432'])
    expect(await sizeOf('?w=600')).toEqual(['600', '120', '0 0 600 120'])
  })

  it('a preview is well formed whatever the title is', async () => {
    const [chart] = (await loadLibrary(chartsFolder({ 11466: SAMPLE }))).charts as [Chart]
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.constantFrom('', '\0', '\uD800', ']]>', '<!--', '\uFFFE'),
        (a, b) => {
          const odd = { ...chart, title: a + b, artist: b + a, levelLabel: a }
          for (const svg of [drawFrame(odd, 1, 480), drawStrip(odd, 480)]) {
            readXml(svg)
            expect(svg).not.toMatch(/[\0-\x08\x0b\x0c\x0e-\x1f\uFFFE\uFFFF]/)
            expect(svg.isWellFormed()).toBe(true)
          }
        },
      ),
      { numRuns: 200 },
    )
  })

  it('a preview stays small however many notes there are at once', async () => {
    const many = Array.from({ length: 3000 }, () => '1-4q7-2[1:2]*-5[4:1]').join('/')
    const { ask } = await startWith('T', `(60){4},${many},E`)
    for (const t of [0.9, 1.5]) {
      const { text } = await ask(`${CHART}?t=${t}`)
      expect(text.length).toBeLessThan(300_000)
      readXml(text)
    }
  })
})

it('a frame has the ring with its buttons and the sensors, whatever is played', async () => {
  const { of, text } = await frameOf(',,,1', 0)
  expect(of('number').map(({ text: number }) => number)).toEqual(['1', '2', '3', '4', '5', '6', '7', '8'])
  expect(of('name')).toHaveLength(33)
  expect(of('note')).toEqual([])
  expect(text).toContain('0:00.00 / 0:03.00')
})

it('a frame lets a tap grow in the middle, travel outwards, and leave at its time', async () => {
  const radius = async (t: number, speed = '') => {
    const { of } = await frameOf(`,,,${speed}3`, t)
    const [tap] = of('tap')
    return tap === undefined ? null : Math.hypot(Number(tap.attributes.cx) - 200, Number(tap.attributes.cy) - 200)
  }
  expect(await radius(2.1)).toBeNull()
  expect(await radius(2.3)).toBeCloseTo(37.5, 0)
  expect(await radius(2.7)).toBeCloseTo(150 - 112.5 / 2, 0)
  expect(await radius(2.85, '<HS*2>')).toBeCloseTo(150 - 112.5 / 2, 0)
  expect(await radius(2.999)).toBeCloseTo(150, 0)
  expect(await radius(3.001)).toBeNull()
  expect((await frameOf(',,,3', 3.05)).of('hit')).toHaveLength(1)
  expect((await frameOf(',,,3', 3.3)).of('hit')).toEqual([])
})

it('a frame lets notes of another scroll speed come sooner or later', async () => {
  const seen = async (speed: string, t: number) => (await frameOf(`,,,${speed}3`, t)).of('tap').length > 0
  expect(await seen('', 2)).toBe(false)
  expect(await seen('<HS*0.5>', 2)).toBe(true)
  expect(await seen('<HS*4>', 2.7)).toBe(false)
})

it('a frame lets a touch fade in 0.75 s before its time, whatever the scroll speed', async () => {
  const petals = async (speed: string, t: number) => (await frameOf(`,,,${speed}C`, t)).of('touch').length
  for (const speed of ['', '<HS*2>', '<HS*0.1>']) {
    expect([await petals(speed, 2.2), await petals(speed, 2.3)]).toEqual([0, 4])
  }
  // So touches that cannot be seen yet take no place of a note that can be seen.
  const touches = Array(200).fill('C').join('/')
  expect((await frameOf(`,,,<HS*0.1>${touches},1`, 0)).of('tap')).not.toEqual([])
})

it('a frame has a colour for each kind of note', async () => {
  const colours = async (notes: string) => {
    const { of } = await frameOf(`,,,${notes}`, 2.9)
    return ['tap', 'each', 'break', 'star', 'ex', 'tie', 'touch'].filter((name) => of(name).length > 0)
  }
  expect(await colours('1')).toEqual(['tap'])
  expect(await colours('1x')).toEqual(['tap', 'ex'])
  expect(await colours('1b')).toEqual(['break'])
  expect(await colours('1$')).toEqual(['star'])
  expect(await colours('1/3')).toEqual(['each', 'tie'])
  expect(await colours('1`3')).toEqual(['tap'])
  expect(await colours('C')).toEqual(['touch'])
})

it('a frame holds on to a hold until its end', async () => {
  expect((await frameOf(',,,1h[4:2]', 2.9)).of('held')).toEqual([])
  expect((await frameOf(',,,1h[4:2]', 4.9)).of('held')).toHaveLength(1)
  expect((await frameOf(',,,1h[4:2]', 5.01)).of('held')).toEqual([])
  expect((await frameOf(',,,Ch[4:2]', 4)).of('held')).toHaveLength(1)
})

it('a frame lets the star of a slide wait, trace the track, and take it up as it goes', async () => {
  const marks = async (t: number) => {
    const track = (await frameOf(',,1-5[4:2]', t)).of('track')[0]
    return track === undefined ? null : (track.attributes.d?.match(/M/g)?.length ?? 0)
  }
  const whole = await marks(2)
  expect(whole).toBeGreaterThan(15)
  expect(await marks(1.2)).toBeNull()
  expect(await marks(2.9)).toBe(whole)
  expect(await marks(4)).toBeLessThan((whole ?? 0) / 1.8)
  expect(await marks(5.01)).toBeNull()
})

it('a frame has three stars for a fan, and one for each slide from one star', async () => {
  expect((await frameOf(',,1w5[4:2]', 4)).of('track')).toHaveLength(3)
  expect((await frameOf(',,1-5[4:2]*-4[4:2]*<7[4:2]', 4)).of('track')).toHaveLength(3)
})

it('a frame shows no head if the slide has none', async () => {
  expect((await frameOf(',,1-5[4:2]', 1.9)).of('star').length).toBeGreaterThan(1)
  expect((await frameOf(',,1?-5[4:2]', 1.9)).of('star')).toHaveLength(1)
})

it('a strip has a bar for each part that has notes, in the colours of their kinds', async () => {
  const { ask } = await startWith('T', '(60){4}1,2b,3h[4:1],C,1-5[4:1],,1,1,E')
  const xml = readXml((await ask(CHART)).text)
  const bars = (kind: string) => inkOf(xml, kind).length
  expect(['tap', 'break', 'hold', 'touch', 'slide'].map(bars)).toEqual([4, 1, 1, 1, 1])
  const heights = inkOf(xml, 'tap').map(({ attributes }) => Number(attributes.height))
  expect(Math.max(...heights)).toBe(Math.min(...heights))
})

it('a strip has bars as high as there are notes', async () => {
  const { ask } = await startWith('T', '(60){4}1/2,3,4/5/6/7,E')
  const bars = inkOf(readXml((await ask(CHART)).text), 'tap')
  expect(bars.map(({ attributes }) => Number(attributes.height))).toEqual([35, 17.5, 70])
})

it('a strip is drawn of a chart that is over as it begins', async () => {
  const { ask } = await startWith('T', '(60)1,E')
  expect(inkOf(readXml((await ask(CHART)).text), 'tap')).toHaveLength(1)
})
