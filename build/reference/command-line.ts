import { ALL } from '../../src/cli/commands.ts'

/** The page of the commands, made from their own help. */

const HEAD = `# The command line

\`tollgate COMMAND --help\` prints what this page says of a command. Wherever a command takes \`-c FILE\`, the default is \`tollgate.yaml\` in the working directory. In a checkout write \`npm run -s tollgate -- COMMAND\` instead of \`tollgate COMMAND\`, which runs with the right version of Node.
`

export function commandLinePage(): string {
  const contents = ALL.map(({ name, summary }) => `- [\`tollgate ${name}\`](#tollgate-${name}): ${summary}`)
  const sections = ALL.map(({ name, help }) => `## tollgate ${name}\n\n\`\`\`text\n${help}\n\`\`\`\n`)
  return `${HEAD}\n${contents.join('\n')}\n\n${sections.join('\n')}`
}
