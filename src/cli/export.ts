/** `deskmirror export`: tables and views of the warehouse as files for other programs. */
import { createReadStream } from 'node:fs'
import { basename } from 'node:path'
import { Option } from 'commander'
import { lakeFolderAllowed, parseLakeFolder } from '../config/lake-setting.ts'
import { exportFormats, formatOfPath, isTextFormat } from '../export/core/formats.ts'
import type {
  CsvSeparatorChoice,
  ExportFormat,
  ExportProgress,
  ExportReport,
  ExportRequest,
  LakeReport,
} from '../export/export.ts'
import { keptFiles } from '../export/kept-files.ts'
import { formatBytes, formatCount, pluralize } from '../values/format.ts'
import type { EpochMs, Ms } from '../values/time.ts'
import { systemErrorText, UserError } from '../values/user-error.ts'
import { type CommandResult, defineCommand, selectCall } from './command.ts'
import type { CommandContext } from './command-context.ts'
import {
  type CommonOptions,
  namedWarehouse,
  parsedBy,
  quietOption,
  separatorError,
  separatorOption,
} from './options.ts'
import type { Display } from './render/display.ts'
import { joinParts, timeLeft } from './render/progress.ts'
import { alignColumns } from './render/table.ts'

type Options = CommonOptions & {
  readonly format?: ExportFormat
  readonly output?: string
  readonly force?: true
  readonly excel?: true
  readonly separator?: CsvSeparatorChoice
  readonly since?: string
  readonly until?: string
  readonly timeColumn?: string
  readonly where?: ExportRequest['where']
  readonly columns?: readonly string[]
  readonly lake?: string
  readonly query?: string
  readonly file?: string
}

const help = `
OBJECT is a table or a view, or a pattern: 'fct_*' (quoted). A pattern leaves out deskmirror's own state (sync_…). All objects
of a call show one state of the warehouse; files get their names when all are complete.

Examples:
  $ deskmirror export messages > messages.csv
  $ deskmirror export conversations messages --format parquet --output exports/
  $ deskmirror export messages --since 2026-01-01 --until 2026-02-01 --format jsonl | gzip > january.jsonl.gz
  $ deskmirror export visitors --columns name,email --output visitors.xlsx      a workbook: times are UTC, ids stay text
  $ deskmirror export visitors --columns name,email --excel --separator ';' --output visitors.csv
  $ deskmirror export 'dim_*' 'fct_*' 'report_*' --output layer.db      one SQLite file, which a read-only folder may hold
  $ deskmirror export --query waits.sql --excel > waits.csv
  $ deskmirror export fct_wait --file demo.db --format jsonl      another warehouse; no configuration is needed
  $ deskmirror export --lake lake/                       messages/month=2026-11/data.parquet and so on; run it again after each sync

--lake writes Parquet by object and month for programs that read folders. Only months that changed are written again, and
manifest.json last. Without OBJECT: what the lake has, or else all that is mirrored.

--query: one statement that reads, within 60 s and 512 MB. Its answer of at most 100,000 rows and 32 MB is exported whole, or not
at all. On Postgres it runs in a transaction that reads only, under DESKMIRROR_ANALYST_DATABASE_URL if that is set.

Exit code: 0 exported · 1 failed, trying again may help · 2 a person must change something · 130 interrupted`

export const command = defineCommand<Options, readonly string[]>({
  name: 'export',
  description:
    'Exports tables and views of the warehouse. Reads only the warehouse: needs no key and ' +
    'makes no request.',
  argument: ['[object...]', 'tables and views'],
  options: [
    new Option(
      '--format <format>',
      'the format; otherwise the ending of --output decides, then csv',
    ).choices(exportFormats),
    new Option(
      '--output <path>',
      'a file, or a folder; - is standard output, the default for a single object',
    ),
    new Option('--lake <folder>', 'Parquet by object and month; only what changed is written again')
      .argParser(parsedBy(`It is empty, or an address: ${lakeFolderAllowed}.`, parseLakeFolder))
      .conflicts([
        'format',
        'output',
        'force',
        'since',
        'until',
        'timeColumn',
        'where',
        'columns',
        'excel',
        'separator',
      ]),
    new Option(
      '--query <file>',
      'the answer to one SQL statement that reads; - is standard input',
    ).conflicts(['lake', 'project', 'since', 'until', 'timeColumn', 'where', 'columns']),
    new Option(
      '--file <warehouse>',
      'an SQLite file or postgres://… instead of the configured warehouse; it is only read',
    ).conflicts('project'),
    new Option('--force', 'overwrite existing files'),
    new Option(
      '--project <name>',
      'only this project of deskmirror.yaml; otherwise all that the warehouse holds',
    ),
    new Option('--since <time>', 'from this date or time on: 2026-01-31, or 2026-01-31T08:00:00Z'),
    new Option('--until <time>', 'before this date or time'),
    new Option(
      '--time-column <name>',
      'what --since and --until mean; otherwise created_at, or the first time or date',
    ),
    new Option(
      '--where <column=value>',
      'only rows with this value (null: with none); may be repeated',
    ).argParser(parsedBy('Write COLUMN=VALUE.', parseCondition)),
    new Option('--columns <a,b>', 'only these columns, in this order').argParser(parseNames),
    new Option(
      '--excel',
      'CSV for spreadsheets: a byte order mark, and no text that would be executed as a formula',
    ),
    separatorOption(),
    quietOption(),
    new Option('--json', 'print a summary as one JSON document; needs --output or --lake'),
  ],
  help,
  run: runExport,
})

async function runExport(
  context: CommandContext,
  options: Options,
  objects: readonly string[],
): Promise<CommandResult> {
  if (options.lake !== undefined) return runLakeExport(context, options, options.lake, objects)
  const query =
    options.query === undefined ? null : await readQuery(context, options.query, objects)
  if (objects.length === 0 && query === null)
    throw refuse(
      'no table or view is named',
      'name some: `deskmirror export messages`, or export all that is mirrored with --lake FOLDER',
    )
  const format = options.format ?? formatOfPath(options.output ?? '') ?? 'csv'
  const target =
    options.output === undefined || options.output === '-' ? context.openStdout() : options.output
  if (format !== 'csv' && options.separator !== undefined) throw separatorError('cannot export')
  rejectContradictions(format, options, typeof target === 'string' ? null : target)
  const { address, projectId, kept, display, handlers } = openRead(context, options)
  const { exportFromWarehouse, exportQuery } = await context.load(() => import('../app/export.ts'))
  const request = {
    objects,
    format,
    target,
    overwrite: options.force === true,
    kept: query === null ? kept : [...kept, query.kept],
    forSpreadsheets: options.excel === true,
    separator: options.separator ?? ',',
    projectId,
    since: options.since ?? null,
    until: options.until ?? null,
    timeColumn: options.timeColumn ?? null,
    where: options.where ?? [],
    columns: options.columns ?? [],
  }
  const exportOptions = { countFirst: display.kind === 'terminal', ...handlers }
  const report = await (query === null
    ? exportFromWarehouse(address, request, exportOptions)
    : exportQuery(address, query, request, exportOptions)
  ).finally(display.clear)
  return {
    document: report,
    lines: typeof target === 'string' ? renderExport(report) : [],
    exit: 0,
  }
}

const refuse = (why: string, next: string) => new UserError({ what: 'cannot export', why, next })

/** Of a statement; larger ones are no statements of people. */
const maxQueryBytes = 1_000_000

/** And no name of a file. */
const statement = /^\s*(?:select|with|values|table|explain)[\s(*](?!.*\.sql$)/is

/** The object is called as the file. */
async function readQuery(context: CommandContext, path: string, objects: readonly string[]) {
  if (objects.length > 0)
    throw refuse('--query says what is exported, and so does OBJECT', 'leave one of them out')
  const chunks: Uint8Array[] = []
  let bytes = 0
  const input = path === '-' ? context.openStdin() : createReadStream(path)
  try {
    for await (const chunk of input) {
      chunks.push(chunk)
      bytes += chunk.byteLength
      if (bytes > maxQueryBytes) throw refuse('the statement is longer than 1 MB', 'shorten it')
    }
  } catch (error) {
    const text = systemErrorText(error)
    if (text !== undefined && statement.test(path))
      throw refuse(
        '--query takes a file, and this is a statement',
        'write it into a file and name that, or pipe it: echo "select …" | deskmirror export --query -',
      )
    throw text === undefined ? error : refuse(`${path}: ${text.why}`, text.next)
  }
  const name = path === '-' ? 'query' : basename(path).replace(/\.sql$/i, '')
  const kept = { path: path === '-' ? '/dev/stdin' : path, why: 'it is the statement' }
  return { name, kept, statement: Buffer.concat(chunks).toString('utf8') }
}

/** What is read, and what shows the progress and ends it. */
function openRead(context: CommandContext, options: Options) {
  const read = selectRead(context, options)
  const display = context.openDisplay(options.quiet === true)
  const signal = context.openEndingSignal()
  const onProgress = createExportProgress(display, context.now)
  return { ...read, display, handlers: { onProgress, signal } }
}

/** Without --project the projects are not needed, only the database. */
function selectRead(context: CommandContext, { project, file, query }: Options) {
  if (file !== undefined) {
    const address = namedWarehouse(file)
    const named = keptFiles({ databaseUrl: address.databaseUrl, files: [] })
    const kept = [...named, ...keptFiles(context.describeConfiguration())]
    return { address, projectId: null, kept }
  }
  const config = context.loadConfig(project === undefined ? 'database' : 'mirror')
  const projectId =
    project === undefined ? null : selectCall(config, project, 'cannot export').project.projectId
  const analyst = query === undefined ? null : config.analystDatabaseUrl
  const address =
    analyst === null
      ? config
      : { databaseUrl: analyst, databaseSetting: 'DESKMIRROR_ANALYST_DATABASE_URL' }
  return { address, projectId, kept: keptFiles(config) }
}

async function runLakeExport(
  context: CommandContext,
  options: Options,
  folder: string,
  objects: readonly string[],
): Promise<CommandResult> {
  const { address, projectId, kept, display, handlers } = openRead(context, options)
  const { exportLake } = await context.load(() => import('../app/export.ts'))
  const request = { folder, objects, isWhole: false, projectId, kept }
  const report = await exportLake(address, request, handlers).finally(display.clear)
  return { document: report, lines: renderLake(report), exit: 0 }
}

function renderLake({ objects }: LakeReport): readonly string[] {
  const lines = objects.map(({ object, rows, partitions, written, bytes }) => [
    object,
    pluralize(rows, 'row'),
    formatBytes(bytes),
    `${written} of ${pluralize(partitions, 'file')} written`,
  ])
  const widened = objects.flatMap(({ object, newColumns }) =>
    newColumns.length === 0 ? [] : `note: ${object} has new columns: ${newColumns.join(', ')}`,
  )
  return [...alignColumns(lines), ...widened]
}

function rejectContradictions(
  format: ExportFormat,
  { json, excel, columns, output }: Options,
  stdout: { readonly isTerminal: boolean } | null,
): void {
  if (json === true && stdout !== null)
    throw refuse('--json would be mixed with the rows on standard output', 'add --output')
  if (excel === true && format !== 'csv') throw refuse('--excel is for CSV', 'leave it out')
  if (stdout?.isTerminal === true && !isTextFormat(format))
    throw refuse(`${format} is not for a terminal`, 'add --output FILE')
  if (columns?.length === 0) throw refuse('--columns names no column', 'name some')
  if (output === '') throw refuse('--output names no file', 'name one')
}

function parseNames(text: string): readonly string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

function parseCondition(text: string, earlier: ExportRequest['where'] = []) {
  const at = text.indexOf('=')
  if (at < 1) return undefined
  const value = text.slice(at + 1)
  return [...earlier, { column: text.slice(0, at), value: value === 'null' ? null : value }]
}

function renderExport({ objects }: ExportReport): readonly string[] {
  return alignColumns(
    objects.map(({ object, rows, bytes, file, timeColumn }) => [
      object,
      pluralize(rows, 'row'),
      bytes === null ? '' : formatBytes(bytes),
      file ?? '',
      timeColumn === null ? '' : `by ${timeColumn}`,
    ]),
  )
}

function createExportProgress(
  display: Pick<Display, 'onLine'>,
  now: () => EpochMs,
): (progress: ExportProgress) => void {
  let object = ''
  let since = now()
  return (progress) => {
    if (progress.object !== object) [object, since] = [progress.object, now()]
    display.onLine(renderExportProgress(progress, now() - since))
  }
}

/** `messages 120,000 of 1,000,000 rows 45,000 rows/s about 20 s left`; the parts that are known. */
export function renderExportProgress({ object, rows, total }: ExportProgress, tookMs: Ms): string {
  const count =
    total === null ? pluralize(rows, 'row') : `${formatCount(rows)} of ${pluralize(total, 'row')}`
  const rate = `${formatCount(Math.round((rows / tookMs) * 1000))} rows/s`
  const measured =
    tookMs < 500 ? [] : [rate, timeLeft(rows, total === null ? 0 : total - rows, tookMs)]
  return joinParts(object, count, ...measured)
}
