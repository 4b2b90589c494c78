/** The options of `writeback import`, and what they say about reading and checking the file. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { ImportSource } from '../../app/import.ts'
import type { Ms } from '../../core/time.ts'
import type { IgnoredColumns } from '../../writeback/import/csv-header.ts'
import type { ImportFormat } from '../../writeback/import/file-form.ts'
import type { CommandContext } from '../command-context.ts'
import {
  type CommonOptions,
  expiresOption,
  jsonOption,
  oneProjectOption,
  type PersonOption,
  parseWholeNumber,
  personOption,
  quietOption,
} from '../options.ts'
import { type ReviewOutputOptions, reviewOutputOptions } from './review-outputs.ts'

export type ImportCommandOptions = CommonOptions &
  PersonOption &
  ReviewOutputOptions & {
    readonly format: ImportFormat
    readonly encoding?: string
    /** True: all columns that are not of an import. */
    readonly ignoreColumns?: true | string
    readonly mistakes?: string
    readonly allowDuplicates?: true
    readonly draft?: true
    readonly title?: string
    readonly note?: string
    readonly expires?: Ms
    readonly dryRun?: true
    readonly check?: true
    readonly limit: number
  }

export function addImportOptions(command: Command): Command {
  const options = [
    new Option('--format <format>', 'of the file; auto detects it from the first line')
      .choices(['auto', 'jsonl', 'csv'])
      .default('auto'),
    new Option('--encoding <name>', 'of a file that is not Unicode, for example windows-1252').argParser(parseEncoding),
    new Option('--ignore-columns [a,b]', 'leave these columns out; without names all that are not of an import'),
    new Option('--mistakes <file.csv>', 'write the rows that have mistakes to this file, each with its mistakes'),
    new Option('--allow-duplicates', 'queue replies that send the same words to the same conversation again'),
    new Option('--draft', 'nothing is sent before `writeback approve`'),
    new Option('--title <text>', 'what people call this batch').argParser(parseTitle),
    new Option('--note <text>', 'what people should know about this batch'),
    expiresOption(),
    new Option('--dry-run', 'queue nothing, and show what would change'),
    new Option('--check', 'of a dry run: also compare with the current records of the service').implies({
      dryRun: true,
    }),
    new Option('--limit <n>', 'of a check: how many rows').argParser(parseLimit).default(200),
    ...reviewOutputOptions(),
    personOption(),
    oneProjectOption(),
    quietOption(),
    jsonOption(),
  ]
  for (const option of options) command.addOption(option)
  return command
}

/** In `--ignore-columns FILE`, the parser of the command line takes the file for the names of columns. */
export function toFileAndOptions(file: string | undefined, options: ImportCommandOptions) {
  const { ignoreColumns } = options
  if (file !== undefined) return { file, options }
  if (typeof ignoreColumns === 'string')
    return { file: ignoreColumns, options: { ...options, ignoreColumns: true as const } }
  return { file: undefined, options }
}

/** `file`: its path, or `-`. */
export function toImportSource(context: CommandContext, file: string, options: ImportCommandOptions): ImportSource {
  const { format, encoding } = options
  const ignoreColumns = toIgnoredColumns(options.ignoreColumns)
  const isStdin = file === '-'
  return {
    source: isStdin ? context.openStdin() : file,
    name: isStdin ? null : file,
    parse: { format, ignoreColumns, ...(encoding === undefined ? {} : { encoding }) },
  }
}

/** How every row is checked, whether it is queued or not. */
export function toCheckOptions(context: CommandContext, { mistakes, allowDuplicates }: ImportCommandOptions) {
  return { now: context.now(), mistakesPath: mistakes ?? null, allowDuplicates: allowDuplicates === true }
}

/** The name that TextDecoder knows. */
function parseEncoding(name: string): string {
  try {
    return new TextDecoder(name).encoding
  } catch {
    throw new InvalidArgumentError('Write a name like windows-1252, iso-8859-2 or macintosh.')
  }
}

function parseTitle(text: string): string {
  if (text.trim() !== '' && text.length <= 200 && !/\p{Cc}/u.test(text)) return text.trim()
  throw new InvalidArgumentError('Write one line of at most 200 characters.')
}

function toIgnoredColumns(names: true | string | undefined): IgnoredColumns {
  if (names === undefined) return []
  return names === true ? 'all' : names.split(',')
}

function parseLimit(text: string): number {
  const rows = parseWholeNumber(text)
  if (rows > 100_000) throw new InvalidArgumentError('Write a number up to 100000.')
  return rows
}
