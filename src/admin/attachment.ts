/** The most characters of a name, without its ending. Systems accept at most 255 bytes, and a character can have four. */
const MOST = 60

/**
 * The header with which a browser saves a response as a file. Letters and digits of any script stay in its name. Other characters, which a
 * path or shell may interpret, become `_`.
 */
export function attachment(name: string, ending: string): Readonly<Record<'content-disposition', string>> {
  const safe = [...name.replace(/[^\p{L}\p{M}\p{N}._@+-]+|^[.-]+/gu, '_')].slice(0, MOST).join('')
  const plain = safe.replace(/[^\x20-\x7e]+/g, '_')
  const written = plain === safe ? '' : `; filename*=UTF-8''${encodeURIComponent(`${safe}.${ending}`)}`
  return { 'content-disposition': `attachment; filename="${plain}.${ending}"${written}` }
}
