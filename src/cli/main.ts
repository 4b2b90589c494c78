/** The command line: registers the commands, and turns every outcome into an exit code. */
import { Command, CommanderError } from 'commander'
import { createCommandContext } from './command-context.ts'
import { explainError, renderError } from './explain-error.ts'
import { packageVersion } from './package-version.ts'

/** In the order of the help. */
const commands = {
  init: async () => (await import('./init.ts')).initCommand,
  check: async () => (await import('./check.ts')).checkCommand,
  sync: async () => (await import('./sync.ts')).syncCommand,
  writeback: async () => (await import('./writeback.ts')).writebackCommand,
  push: async () => (await import('./push.ts')).pushCommand,
  start: async () => (await import('./start.ts')).startCommand,
  console: async () => (await import('./console.ts')).consoleCommand,
  status: async () => (await import('./status.ts')).statusCommand,
  report: async () => (await import('./report.ts')).reportCommand,
  verify: async () => (await import('./verify.ts')).verifyCommand,
  audit: async () => (await import('./audit.ts')).auditCommand,
  export: async () => (await import('./export.ts')).exportCommand,
  token: async () => (await import('./token.ts')).tokenCommand,
  migrate: async () => (await import('./migrate.ts')).migrateCommand,
  erase: async () => (await import('./erase.ts')).eraseCommand,
  sandbox: async () => (await import('./sandbox.ts')).sandboxCommand,
  demo: async () => (await import('./demo.ts')).demoCommand,
}

type CommandName = keyof typeof commands

const examples = `
Start here:
  $ deskmirror demo       nothing to configure: a mock server, a mirror of it, and what is in the mirror
  $ deskmirror init       connects a real project: asks, tests, and writes .env
  $ deskmirror check      what a real project needs, and how to get it
  $ deskmirror sync       mirror the project into SQLite, or into Postgres
  $ deskmirror start      keep it up to date by schedule, until stopped
  $ deskmirror console    the mirror in a browser
  $ deskmirror report     the last week on one page

Write back:
  $ deskmirror writeback import replies.csv     queue replies, handled flags, notes and corrections
  $ deskmirror push                             send what is queued

Configuration: variables (a file .env is read), or deskmirror.yaml for several projects; see docs/configuration.md.
Exit code: 0 done · 1 failed, trying again may help · 2 a person must change something · 3 done, with stated gaps`

// The files hold customers' data, so only this user may read them. Existing files keep their mode.
process.umask(0o077)

const context = createCommandContext()
const program = new Command('deskmirror')
  .description('Mirrors the conversations, visitors and calls of a messaging project into SQLite or Postgres.')
  .version(packageVersion())
  .addHelpText('after', examples)
  // Options belong to the command in front of them, as a subcommand may have one of the same name.
  .enablePositionalOptions()
const loaded = await Promise.all(commandsToLoad(process.argv[2]).map((name) => commands[name]()))
for (const command of loaded) program.addCommand(command(context))
configureErrors(program, 'deskmirror')
// A worker handles uncaught errors and stops in order; any other command ends.
process.on('uncaughtException', (error) => {
  if (process.listenerCount('uncaughtException') > 1) return
  reportError(error)
  process.exit()
})
program.parseAsync().catch(reportError)

/** Only the chosen command; all of them for the help, and for what is no command. */
function commandsToLoad(first: string | undefined): readonly CommandName[] {
  const names = Object.keys(commands) as CommandName[]
  if (first === '--version' || first === '-V') return []
  const chosen = names.filter((name) => name === first)
  return chosen.length > 0 ? chosen : names
}

/** Makes every command and subcommand throw its usage errors, and point to its help. */
function configureErrors(command: Command, name: string): void {
  command.exitOverride().showHelpAfterError(`(${name} --help lists the options)`)
  for (const inner of command.commands) configureErrors(inner, `${name} ${inner.name()}`)
}

/** Help and version succeed; everything else that the parser throws is a usage error. */
function reportError(error: unknown): void {
  if (error instanceof CommanderError) {
    context.setExitCode(error.exitCode === 0 ? 0 : 2)
    // The parser has printed the message. The options were not parsed, so --json is searched in the arguments.
    if (error.exitCode !== 0 && process.argv.includes('--json')) context.writeOut(usageErrorDocument(error))
    return
  }
  const explanation = explainError(error)
  context.writeErr(`${renderError(explanation, context.wantsStackTraces()).join('\n')}\n`)
  context.setExitCode(explanation.exitCode)
}

/** The JSON document of a usage error. */
function usageErrorDocument({ message }: CommanderError): string {
  const why = message.replace(/^error: /, '')
  const next = '`deskmirror --help` lists the commands'
  const error = { what: 'the command line is invalid', why, next, exitCode: 2 }
  return `${JSON.stringify({ error }, null, 2)}\n`
}
