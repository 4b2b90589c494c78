/** `deskmirror migrate`: brings the warehouse to this version's schema. */
import { Command } from 'commander'
import type { MigrationSummary } from '../warehouse/database/migrate.ts'
import type { CommandContext } from './command-context.ts'
import { type CommandResult, runAndPrint } from './command-result.ts'
import { jsonOption } from './options.ts'

const examples = `
Every command that writes does this itself. Needs only the database: no address, no key.

Examples:
  $ deskmirror migrate
  $ DESKMIRROR_DATABASE_URL=postgres://me@db/mirror deskmirror migrate --json`

export function migrateCommand(context: CommandContext): Command {
  return new Command('migrate')
    .summary("bring the warehouse to this version's schema")
    .description("Creates the tables of the warehouse, or brings them to this version's schema.")
    .addOption(jsonOption())
    .addHelpText('after', examples)
    .action((options: { readonly json?: true }) => runAndPrint(context, options, () => runMigrate(context)))
}

async function runMigrate(context: CommandContext): Promise<CommandResult> {
  const { migrateWarehouse } = await context.load(() => import('../app/status.ts'))
  const migrated = await migrateWarehouse(context.loadConfig('database'))
  return { document: migrated, lines: renderMigration(migrated), exit: 0 }
}

function renderMigration({ from, to, applied }: MigrationSummary): readonly string[] {
  if (applied.length === 0) return [`the warehouse is at ${to} already`]
  return [...applied.map((name) => `applied ${name}`), `the warehouse went from ${from ?? 'nothing'} to ${to}`]
}
