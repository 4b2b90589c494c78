/** The command line: joins the commands, and turns every way of ending into an exit code. */
import { Command, CommanderError } from 'commander'
import { checkCommand } from './check.ts'
import { demoCommand } from './demo.ts'
import { migrateCommand } from './migrate.ts'
import { pushCommand } from './push.ts'
import { sandboxCommand } from './sandbox.ts'
import { createCommandContext } from './command-context.ts'
import { startCommand } from './start.ts'
import { statusCommand } from './status.ts'
import { syncCommand } from './sync.ts'
import { tokenCommand } from './token.ts'
import { renderError, explainError } from './explain-error.ts'
import { verifyCommand } from './verify.ts'
import { version } from './version.ts'
import { writebackCommand } from './writeback.ts'

const examples = `
Start here:
  $ deskmirror demo       nothing to configure: a service double, a mirror of it, and what is in the mirror
  $ deskmirror check      what a real project needs, and how to get it
  $ deskmirror sync       mirror the project into SQLite, or into Postgres
  $ deskmirror start      the same by schedule, until stopped

The other way:
  $ deskmirror writeback import replies.csv     queue replies, handled flags, notes and corrections
  $ deskmirror push                             send what is queued

Configuration: variables (a file .env is read), or deskmirror.yaml for several projects; see docs/configuration.md.
Exit code: 0 done · 1 failed, trying again may help · 2 a person must change something · 3 done, with stated gaps`

// What is written holds what customers wrote: only this user may read it. Files that are there already keep their mode.
process.umask(0o077)

const context = createCommandContext()
const program = new Command('deskmirror')
  .description('Mirrors the conversations, visitors and calls of a messaging project into SQLite or Postgres.')
  .version(version())
  .addHelpText('after', examples)
const commands = [
  checkCommand,
  syncCommand,
  writebackCommand,
  pushCommand,
  startCommand,
  statusCommand,
  verifyCommand,
  tokenCommand,
  migrateCommand,
  sandboxCommand,
  demoCommand,
]
for (const command of commands) program.addCommand(command(context))
configureErrors(program, 'deskmirror')
// A worker hears of what nobody caught, and stops in order; any other command is over.
process.on('uncaughtException', (error) => {
  if (process.listenerCount('uncaughtException') > 1) return
  reportError(error)
  process.exit()
})
program.parseAsync().catch(reportError)

/** Every command, and those below it, throws its mistakes, and says where help is. */
function configureErrors(command: Command, name: string): void {
  command.exitOverride().showHelpAfterError(`(${name} --help shows what is possible)`)
  for (const inner of command.commands) configureErrors(inner, `${name} ${inner.name()}`)
}

/** Help and version end well; everything else that the parser throws is a mistake in the call. */
function reportError(error: unknown): void {
  if (error instanceof CommanderError) {
    context.setExitCode(error.exitCode === 0 ? 0 : 2)
    // The parser has told a person; the options were not read, so what was wanted is looked for among the words.
    if (error.exitCode !== 0 && process.argv.includes('--json')) context.writeOut(usageErrorDocument(error))
    return
  }
  const trouble = explainError(error)
  context.writeErr(`${renderError(trouble, context.wantsStackTraces()).join('\n')}\n`)
  context.setExitCode(trouble.exitCode)
}

/** The document of a call that could not be understood. */
function usageErrorDocument({ message }: CommanderError): string {
  const why = message.replace(/^error: /, '')
  const error = { what: 'the call has a mistake', why, next: '`deskmirror --help` shows what is possible', exitCode: 2 }
  return `${JSON.stringify({ error }, null, 2)}\n`
}
