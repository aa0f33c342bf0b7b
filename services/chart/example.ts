import { chartsOf } from './library.ts'
import { drawFrame } from './preview/frame.ts'
import { parseMaidata } from './simai/maidata.ts'

/** The chart of the documented examples: every kind of note in four seconds. */
const MAIDATA = `&title=Sample Song
&artist=Example Artist
&des=Example Charter
&first=0
&lv_5=12+
&inote_5=
(120){4}1,2,3/7,4h[4:2],
{8}5,6b,1-5[4:1],,
C,Ch[4:1],E
`

/** The picture of `preview.svg` at 2.6 s, while the star of a slide waits at its start. */
export const PICTURE = pictureOf(2.6)

function pictureOf(seconds: number): string {
  const [chart] = chartsOf(11466, parseMaidata(MAIDATA), Buffer.from(MAIDATA))
  if (chart === undefined) throw new Error('the example has no chart')
  return drawFrame(chart, seconds, 320)
}
