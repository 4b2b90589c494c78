/** A warehouse that is named on the command line: nothing needs to be configured. */
import { existsSync } from 'node:fs'
import type { DatabaseAddress } from '../app/open.ts'
import type { Config } from '../config/config.ts'
import { ConfigurationError } from '../config/problems.ts'
import { UserError } from '../values/user-error.ts'
import type { CommandContext } from './command-context.ts'

export const warehouseArgument = ['[warehouse]', 'an SQLite file, or postgres://…; else the configured one'] as const

export function namedWarehouse(named: string): DatabaseAddress {
  const isUrl = /^(sqlite|postgres|postgresql):/.test(named)
  if (isUrl || existsSync(named))
    return { databaseUrl: isUrl ? named : `sqlite:${named}`, databaseSetting: 'the command' }
  throw new UserError({
    what: 'cannot open the warehouse',
    why: `there is no file ${named}`,
    next: 'name an SQLite file or postgres://user@host/database, or run `deskmirror demo --keep demo.db` for one to look at',
    exitCode: 2,
  })
}

/** Without a configuration, most people who want to look at a warehouse have its file. */
export function loadConfigured(context: CommandContext, command: string): Config {
  try {
    return context.loadConfig('mirror')
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    const { what, why, next, exitCode } = error
    const named = `name a warehouse, as in \`deskmirror ${command} demo.db\``
    throw new UserError({ what, why, next: `${named}; or ${next}`, exitCode }, { cause: error })
  }
}
