import { Button } from '@mantine/core'
import { type ReactNode, type ToggleEvent, useId, useRef, useState } from 'react'
import './dropdown.css'

interface DropdownProps {
  /** The text of the button. */
  readonly label: ReactNode
  /** The meaning of the button, for a label that is only a name. Default none. */
  readonly title?: string
  /** Whether something in the panel is chosen. Default false. */
  readonly isOn?: boolean
  readonly children: ReactNode
}

/** A button that opens a small panel below it. The browser closes the panel on Escape and on a click outside. */
export function Dropdown({ label, title, isOn = false, children }: DropdownProps) {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const [isOpen, setOpen] = useState(false)
  function place({ newState, currentTarget: panel }: ToggleEvent<HTMLDivElement>): void {
    setOpen(newState === 'open')
    const below = button.current?.getBoundingClientRect()
    if (newState !== 'open' || below === undefined) return
    const left = Math.min(below.left, window.innerWidth - panel.offsetWidth - 8)
    panel.style.left = `${Math.max(8, left)}px`
    panel.style.top = `${below.bottom + 4}px`
  }
  return (
    <>
      <Button
        ref={button}
        size="xs"
        variant={isOn ? 'light' : 'default'}
        className="dropdown-button"
        popoverTarget={id}
        aria-expanded={isOpen}
        title={title}
      >
        {label}
        <span aria-hidden="true">▾</span>
      </Button>
      <div id={id} popover="auto" className="dropdown" onToggle={place}>
        {children}
      </div>
    </>
  )
}
