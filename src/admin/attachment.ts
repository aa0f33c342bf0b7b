/** More characters of a name help nobody, and systems take no more than 255 bytes. */
const MOST = 60

/** The header by which a browser saves a response as a file. Of its name, letters and digits of any script stay; what a path or a shell reads is `_`. */
export function attachment(name: string, ending: string): Readonly<Record<'content-disposition', string>> {
  const safe = [...name.replace(/[^\p{L}\p{M}\p{N}._@+-]+|^[.-]+/gu, '_')].slice(0, MOST).join('')
  const plain = safe.replace(/[^\x20-\x7e]+/g, '_')
  const written = plain === safe ? '' : `; filename*=UTF-8''${encodeURIComponent(`${safe}.${ending}`)}`
  return { 'content-disposition': `attachment; filename="${plain}.${ending}"${written}` }
}
