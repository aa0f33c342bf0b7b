import { Button } from '@mantine/core'
import type { ComponentProps } from 'react'

/** A button of less weight than the one that sends a form. */
export function Plain(props: ComponentProps<typeof Button<'button'>>) {
  return <Button variant="default" {...props} />
}
