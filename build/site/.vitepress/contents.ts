import { posix } from 'node:path'

/** A part of docs/README.md with the pages that it lists, in their order: the sidebar of the site. */
export interface Part {
  readonly text: string
  readonly items: readonly { readonly text: string; readonly link: string }[]
}

export function partsOf(contents: string): Part[] {
  return contents
    .split(/^## /m)
    .slice(1)
    .map((part) => {
      const [text = '', ...lines] = part.split('\n')
      const links = lines.flatMap((line) => [...line.matchAll(/\[([^\]]+)\]\(([^)#]+\.md)\)/g)])
      return { text, items: links.map(([, text = '', path = '']) => ({ text, link: addressOf(`docs/${path}`) })) }
    })
}

/** The address on the site of a page of the repository: README.md is the page of its folder. */
export function addressOf(path: string): string {
  return `/${posix.normalize(path).replace(/(^|\/)README\.md$/, '$1index.md')}`
}

/**
 * A link of a page in the form of the site: to a page of the site, or otherwise to the file in the repository.
 * @param page the path of the page that has the link, from the root of the repository
 * @param repository the address of the repository in the browser
 */
export function linkOnSite(link: string, page: string, isPage: (path: string) => boolean, repository: string): string {
  if (/^(?:[a-z]+:|#|\/)/.test(link)) return link
  const [path = '', anchor] = link.split('#')
  const target = posix.join(posix.dirname(page), path)
  if (!isPage(target)) return `${repository}/blob/main/${target}`
  return anchor === undefined ? addressOf(target) : `${addressOf(target)}#${anchor}`
}

/** The anchor of a heading in the form of forges, so that links lead to the same place here and there. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')
}
