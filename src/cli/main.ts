/** Runs the command line, and turns every outcome into an exit code. */
import { type Command, CommanderError } from 'commander'
import { UserError } from '../values/user-error.ts'
import { createCommandContext } from './command-context.ts'
import { explainError, renderError } from './explain-error.ts'
import { type CommandName, commandNames, createProgram } from './program.ts'

// The files hold customers' data, so only this user may read them. Existing files keep their mode.
process.umask(0o077)

const context = createCommandContext()
const args = process.argv.slice(2)
const version = /^(-V|--version)$/.test(args[0] ?? '') ? await context.readVersion() : undefined
const program = await createProgram(context, commandsToLoad(args), version?.text)
configureErrors(program, 'deskmirror')
// A worker handles uncaught errors and stops in order; any other command ends.
process.on('uncaughtException', (error) => {
  if (process.listenerCount('uncaughtException') > 1) return
  reportError(error)
  process.exit()
})
program.parseAsync().catch(reportError)

/** Only the chosen command, or the one whose help is asked for. */
function commandsToLoad([first, second]: readonly string[]): readonly CommandName[] {
  return commandNames.filter((name) => name === (first === 'help' ? second : first))
}

/** Makes every command and subcommand throw its usage errors, and point to its help. */
function configureErrors(command: Command, name: string): void {
  const listed = command.commands.length > 0 ? 'commands' : 'options'
  command.exitOverride().showHelpAfterError(`(${name} --help lists the ${listed})`)
  for (const inner of command.commands) configureErrors(inner, `${name} ${inner.name()}`)
}

/** Help and version succeed; everything else that the parser throws is a usage error. */
function reportError(error: unknown): void {
  if (error instanceof CommanderError) {
    context.setExitCode(error.exitCode === 0 ? 0 : 2)
    // The parser has printed the message. The options were not parsed, so --json is searched in the
    // arguments.
    if (error.exitCode !== 0) writeDocument(usageErrorDocument(error))
    return
  }
  const explanation = explainError(error)
  // An option that is refused with what to do.
  if (error instanceof UserError) {
    const { what, why, next, exitCode } = explanation
    writeDocument({ what, why, next, exitCode })
  }
  context.writeErr(`${renderError(explanation, context.wantsStackTraces()).join('\n')}\n`)
  context.setExitCode(explanation.exitCode)
}

function writeDocument(error: object): void {
  if (process.argv.includes('--json')) context.writeOut(`${JSON.stringify({ error }, null, 2)}\n`)
}

function usageErrorDocument({ message }: CommanderError) {
  const why = message.replace(/^error: /, '')
  const next = '`deskmirror --help` lists the commands'
  return { what: 'the command line is invalid', why, next, exitCode: 2 }
}
