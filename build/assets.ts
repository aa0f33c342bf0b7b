import { cpSync, globSync } from 'node:fs'

/** What tsc does not copy. */
for (const file of globSync(['src/**/*.lua', 'src/bin/*.cjs'])) cpSync(file, file.replace(/^src/, 'dist'))
