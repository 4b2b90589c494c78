/** Options that several commands share, and the parsers of their values. */

import { existsSync } from 'node:fs'
import { InvalidArgumentError, Option } from 'commander'
import { streamNames } from '../../schema/stream-specs.ts'
import type { DatabaseAddress } from '../app/open.ts'
import type { Config } from '../config/config.ts'
import { parsePersonName } from '../config/people.ts'
import { ConfigurationError } from '../config/problems.ts'
import { separatorChoices } from '../export/core/formats.ts'
import type { CsvSeparatorChoice } from '../export/export.ts'
import type { ProjectName } from '../values/project.ts'
import { type EpochMs, type Ms, parseDuration, rfc3339 } from '../values/time.ts'
import { UserError } from '../values/user-error.ts'
import type { CommandContext } from './command-context.ts'

export type CommonOptions = {
  readonly project?: ProjectName
  readonly quiet?: true
  readonly json?: true
}

/** The parser of an option's value. `allowed`: the message if `parse` returns undefined. */
export const parsedBy =
  <T>(allowed: string, parse: (text: string, earlier?: T) => T | undefined) =>
  (text: string, earlier?: T): T => {
    const value = parse(text, earlier)
    if (value !== undefined) return value
    throw new InvalidArgumentError(allowed)
  }

export const jsonOption = () => new Option('--json', 'print one JSON document instead of text')
export const projectOption = () =>
  new Option('--project <name>', 'only this project of deskmirror.yaml')
export const oneProjectOption = () =>
  new Option('--project <name>', 'which project; needed where deskmirror.yaml has several')
export const quietOption = () =>
  new Option('--quiet', 'no progress and no log, only the result and errors')
export const separatorOption = () =>
  new Option('--separator <separator>', 'of CSV: , or ; or tab').argParser(
    parsedBy<CsvSeparatorChoice>('Write one of , ; tab.', (text) =>
      separatorChoices.find((choice) => choice === (text === 'tab' ? '\t' : text)),
    ),
  )

export function separatorError(what: string): UserError {
  const why = '--separator is for CSV'
  return new UserError({ what, why, next: 'leave it out, or write CSV' })
}
export const streamsOption = () =>
  new Option('--streams <a,b>', 'only these streams').argParser(parseChoices(streamNames))

/** For a comma-separated list of some of the choices, which are returned in their own order. */
export function parseChoices<T extends string>(choices: readonly T[]) {
  return (text: string): readonly T[] => {
    const names = text.split(',').map((name) => name.trim())
    const unknown = names.filter((name) => !choices.some((choice) => choice === name))
    if (unknown.length > 0)
      throw new InvalidArgumentError(`${unknown.join(', ')}: choose from ${choices.join(', ')}.`)
    return choices.filter((choice) => names.includes(choice))
  }
}

export const parseWholeNumber = parsedBy('Write a whole number.', (text) =>
  /^\d{1,9}$/.test(text) ? Number(text) : undefined,
)

/** How many rows to draw at random. */
export const parseSampleSize = parsedBy(
  'Draw at least one.',
  (text) => parseWholeNumber(text) || undefined,
)

export const expiresOption = () =>
  new Option('--expires <duration>', 'do not send it after this time, for example 24h').argParser(
    parsedBy(durationAllowed, (text) => parseDuration(text) || undefined),
  )

export const durationAllowed = 'Write a duration like 30m, 24h or 7d.'

/** RFC 3339; null if it never expires. */
export function toExpiryTime(now: EpochMs, lifetimeMs: Ms | undefined): string | null {
  return lifetimeMs === undefined ? null : rfc3339(Math.floor((now + lifetimeMs) / 1000))
}

export type PersonOption = { readonly as?: string }

export const personOption = (does = 'who decides') =>
  new Option('--as <name>', `${does}; without it DESKMIRROR_PERSON, else your user name`).argParser(
    parsedBy('Write a name of at most 100 characters.', parsePersonName),
  )

/** `config` null: there is none. */
export function decidingPerson(
  context: CommandContext,
  config: Config | null,
  { as }: PersonOption,
): string {
  return as ?? config?.person ?? context.currentUser()
}

/** A warehouse that is named on the command line: nothing needs to be configured. */
export const warehouseArgument = [
  '[warehouse]',
  'an SQLite file, or postgres://…; else the configured one',
] as const

export function namedWarehouse(named: string): DatabaseAddress {
  const isUrl = /^(sqlite|postgres|postgresql):/.test(named)
  if (isUrl || existsSync(named))
    return { databaseUrl: isUrl ? named : `sqlite:${named}`, databaseSetting: 'the command' }
  throw new UserError({
    what: 'cannot open the warehouse',
    why: `there is no file ${named}`,
    next:
      'name an SQLite file or postgres://host/database, or run `deskmirror demo --keep ' +
      'demo.db` for one to look at',
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
