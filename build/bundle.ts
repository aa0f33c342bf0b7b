import { cpSync, globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Plugin, rolldown } from 'rolldown'

/**
 * Writes the gateway into `dist`: each program, and the parts that several programs need or that load later, in files of their
 * own. They also hold the code of the packages in `dependencies`. A start then reads about 40 files instead of 700. They are
 * CommonJS, because an `import` of `node:http` would read each of its exports, and load a client of HTTP with it.
 */

const root = fileURLToPath(new URL('..', import.meta.url))
const source = join(root, 'src')
const dist = join(root, 'dist')
const { files } = JSON.parse(readFileSync(join(root, 'tsconfig.build.json'), 'utf8')) as { files: string[] }

/** A module finds the files beside it as if it had its own file in `dist`. */
const places: Plugin = {
  name: 'places',
  transform(code, id) {
    if (!id.startsWith(source + sep) || !code.includes('import.meta.')) return null
    const place = (path: string) => `(DIST + ${JSON.stringify(path)})`
    const file = relative(source, id).replace(/\.ts$/, '.js')
    const placed = code
      // There is a `require` already, and modules required by it become a part of the bundle.
      .replace(/^const require = createRequire\(import\.meta\.url\)$/m, '')
      .replaceAll('import.meta.url', `require('node:url').pathToFileURL${place(`/${file}`)}.href`)
      .replaceAll('import.meta.filename', place(`/${file}`))
      .replaceAll('import.meta.dirname', place(join('/', file, '..')))
    if (placed.includes('import.meta'))
      throw new Error(`${id}: CommonJS has none of its import.meta but url, filename and dirname`)
    return placed
  },
}

const bundle = await rolldown({
  cwd: root,
  input: Object.fromEntries(files.map((file) => [relative('src', file).replace(/\.ts$/, ''), file])),
  platform: 'node',
  plugins: [places],
})
const { output } = await bundle.write({
  dir: dist,
  format: 'cjs',
  entryFileNames: '[name].js',
  chunkFileNames: 'parts/[name]-[hash].js',
  // The output is strict, as the modules are. DIST is declared by `intro`, because after a banner the directive would be lost.
  strict: true,
  // V8 keeps the text of loaded code, with two bytes for each character if one is beyond Latin-1. Names stay for the stacks. Lines stay
  // too, because Node prints the line of an error that nobody catches.
  minify: { compress: false, mangle: false, codegen: { removeWhitespace: false, asciiOnly: true } },
  comments: false,
  intro: ({ fileName }) => `const DIST = require('node:path').join(__dirname, ${JSON.stringify(up(fileName))})`,
})
writeFileSync(join(dist, 'licenses.txt'), licenses())
writeFileSync(join(dist, 'package.json'), '{ "type": "commonjs" }\n')
for (const file of globSync('src/**/*.{lua,sql}', { cwd: root }))
  cpSync(join(root, file), join(dist, relative('src', file)))
for (const file of globSync('src/bin/*.cjs', { cwd: root })) cpSync(join(root, file), join(dist, relative('src', file)))

/** @returns the path from the folder of a file to `dist` */
function up(file: string): string {
  return join(relative(join(dist, file, '..'), dist), '.')
}

/** @returns the licence of each package that has code in the bundle */
function licenses(): string {
  const modules = output.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []))
  const folders = new Set(modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id) ?? []))
  const texts = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each))
    return `${name} ${version}: ${license}\n\n${file === undefined ? '' : readFileSync(join(folder, file), 'utf8')}`
  })
  return texts.join('\n\n')
}
