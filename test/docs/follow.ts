import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { closedAtEnd } from '../setup/at-end.ts'
import { type Shell, startShell } from '../setup/shell.ts'
import { commandsIn, withoutTheAccidental } from '../setup/tour.ts'
import { blocksIn } from './blocks.ts'

/** Where a document is followed. */
export interface Scene {
  /** Where its reader would be: an empty folder, or a checkout. */
  readonly folder: string
  readonly env: NodeJS.ProcessEnv
  /** Texts of the document that cannot be the same here, such as its ports, and what stands for each. */
  readonly instead: Readonly<Record<string, string>>
  close(): Promise<void>
}

/**
 * Does what a document tells its reader, in its order, as tests: a block with the name of a file becomes that file, and each
 * command of a `console` block must print what the document says.
 */
export function follow(document: string, open: () => Promise<Scene>): void {
  let scene: Scene
  let shell: Shell
  beforeAll(async () => {
    scene = closedAtEnd(await open())
    shell = closedAtEnd(startShell(scene.folder, scene.env))
  }, 400_000)

  const here = (text: string): string =>
    Object.entries(scene.instead).reduce((done, [written, used]) => done.replaceAll(written, used), text)
  const asWritten = (text: string): string =>
    Object.entries(scene.instead).reduce((done, [written, used]) => done.replaceAll(used, written), text)

  for (const { language, file, text } of blocksIn(readFileSync(document, 'utf8'))) {
    if (file !== null) {
      it(`writes ${file}`, () => {
        mkdirSync(dirname(join(scene.folder, file)), { recursive: true })
        writeFileSync(join(scene.folder, file), here(text))
      })
    }
    if (language !== 'console') continue
    for (const { command, output } of commandsIn(`\`\`\`console\n${text}\`\`\`\n`)) {
      it(command.slice(0, 90), async () => {
        const printed = asWritten(await shell.run(here(command)))
        expect(withoutTheAccidental(printed)).toBe(withoutTheAccidental(output))
      })
    }
  }
}
