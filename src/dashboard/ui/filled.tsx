import { Fragment, type ReactNode } from 'react'

interface FilledProps {
  readonly text: string
  readonly parts: Readonly<Record<string, ReactNode>>
}

/** A text of the page with elements in its `{name}` holes. */
export function Filled({ text, parts }: FilledProps) {
  const pieces = text.split(/\{(\w+)\}/)
  // Every other piece is the name of a hole.
  const nodes = pieces.map((piece, place) => (place % 2 === 0 ? piece : (parts[piece] ?? `{${piece}}`)))
  return nodes.map((node, place) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: pieces do not move
    <Fragment key={place}>{node}</Fragment>
  ))
}
