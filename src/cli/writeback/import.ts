/** `deskmirror writeback import`: queues all rows of a file or none, or is a dry run. */
import { basename } from 'node:path'
import { type Command, Option } from 'commander'
import { isStandardInput } from '../../config/text-file.ts'
import type { KeptFiles } from '../../export/export.ts'
import { importedFile, keptFiles, otherOutput } from '../../export/kept-files.ts'
import { rejectOutput } from '../../export/output-file.ts'
import { toColumnKey } from '../../imports/csv-header-words.ts'
import type { ImportSource } from '../../imports/imports.ts'
import { columnMeanings, isMeaning } from '../../imports/reply-sheet.ts'
import { operationsInHelp, operationTypes } from '../../outbox/core/operations.ts'
import type { ColumnMap, Operation, ReviewSummary } from '../../outbox/outbox.ts'
import { pluralize, toPrintable } from '../../values/format.ts'
import { type Ms, toTimestamp } from '../../values/time.ts'
import { UserError } from '../../values/user-error.ts'
import { type CommandResult, defineProjectCommand, type ProjectCall } from '../command.ts'
import type { CommandContext } from '../command-context.ts'
import {
  type CommonOptions,
  decidingPerson,
  expiresOption,
  jsonOption,
  oneProjectOption,
  type PersonOption,
  parsedBy,
  personOption,
  quietOption,
  toExpiryTime,
} from '../options.ts'
import { refuseChecks } from '../removed-options.ts'
import {
  openReviewOutputs,
  type ReviewOutputOptions,
  renderReview,
  reviewOutputOptions,
} from '../render/review.ts'
import { renderDryRun, renderImport } from './render-import.ts'

const examples = `
A line is one write-back, as JSON or as a row of CSV:
${operationsInHelp.map(exampleLine).join('\n')}
Optional in each: ref (your own key, never queued twice), expect (the last message that you saw), expires_at (--expires is
for lines without one). In CSV the first row names these fields, in any order and case ("Conversation ID"). yes, no, x, 1,
0 and the TRUE and FALSE of spreadsheets in any language are read, as are UTF-8 and UTF-16. A workbook (.xlsx) is read like
CSV: its visible sheet, hidden rows too.

A sheet of \`deskmirror writeback sheet\`, or any without the column operation: content is a reply, handled marks the
conversation handled after it, and rows with neither are skipped. Instead of conversation_id, visitor_email or an exact
visitor_name may say whose it is; such a batch always waits for approval. Other headers (Antwort, E-Mail, Kunde, erledigt)
are known or named by --map, which is remembered for files with the same headers.

All rows are checked before any is queued. A file imported twice queues nothing twice. The same words to the same
conversation, in the file or within 30 days, are a mistake unless you allow them. Ctrl-C before the end queues nothing.
\`deskmirror push\` or a running worker sends what is queued.

Examples:
  $ deskmirror writeback import replies.csv --dry-run
  $ deskmirror writeback import replies.csv --mistakes mistakes.csv
  $ deskmirror writeback import replies.csv --draft --title "Apology for Monday" --expires 24h
  $ deskmirror writeback import answers.csv --sender-name Ann --map "Our words=content"
  $ jq -c … export.json | deskmirror writeback import -

Exit code: 0 queued, now or before · 1 failed, trying again may help · 2 rows with mistakes, nothing is queued ·
3 queued, but not rows that differ from what their refs were queued for; of a dry run: some rows would not be sent`

const command = defineProjectCommand<ImportCommandOptions, string | undefined>({
  name: 'import',
  summary: 'queue all rows of a file, or none',
  description: 'Queues all rows of a file (a workbook, CSV or JSON Lines), or none.',
  argument: ['[file]', 'the file; - reads standard input'],
  options: [
    new Option('--format <format>', 'of the file; auto detects it from the first line')
      .choices(['auto', 'jsonl', 'csv'])
      .default('auto'),
    new Option(
      '--encoding <name>',
      'of a file that is not Unicode, for example windows-1252',
    ).argParser(
      parsedBy('Write a name like windows-1252, iso-8859-2 or macintosh.', encodingNamed),
    ),
    new Option(
      '--ignore-columns [a,b]',
      'leave these columns out; without names all that are not of an import',
    ),
    new Option(
      '--map <header=column>',
      'what a column means, such as Antwort=content; may be repeated',
    ).argParser(
      parsedBy(
        `Write HEADER=COLUMN, with one of ${Object.keys(columnMeanings).join(', ')}.`,
        parseMap,
      ),
    ),
    new Option('--sender-name <name>', 'the sender of replies that name none'),
    new Option(
      '--mistakes <file>',
      'write the rows that have mistakes to this workbook (.xlsx) or CSV, each with its mistakes',
    ),
    new Option(
      '--allow-duplicates',
      'queue replies that send the same words to the same conversation again',
    ),
    new Option('--draft', 'nothing is sent before `writeback approve`'),
    new Option('--title <text>', 'what people call this batch').argParser(
      parsedBy('Write one line of at most 200 characters.', (text) =>
        text.trim() !== '' && text.length <= 200 && !/\p{Cc}/u.test(text) ? text.trim() : undefined,
      ),
    ),
    new Option('--note <text>', 'what people should know about this batch'),
    expiresOption(),
    new Option('--dry-run', 'queue nothing, and show what would change, as the mirror shows it'),
    ...reviewOutputOptions(),
    personOption(),
    oneProjectOption(),
    quietOption(),
    jsonOption(),
  ],
  help: examples,
  what: 'nothing was queued',
  run: (context, call, typed, given) => {
    const { file, options } = toFileAndOptions(given, typed)
    return runImport(context, call, file, options)
  },
})

export const importCommand = (context: CommandContext): Command =>
  refuseChecks(command(context).usage('[options] <file>'))

function exampleLine(operation: Operation): string {
  const { target, fields } = operationTypes[operation]
  const values = Object.entries(fields).map(([name, { kind }]) => [
    name,
    kind === 'flag' ? true : '…',
  ])
  const line = JSON.stringify({ operation, [`${target}_id`]: '…', ...Object.fromEntries(values) })
  const canClear = Object.values(fields).some(({ clearHelp }) => clearHelp !== undefined)
  return `  ${line}${canClear ? '     an omitted field stays, null clears it' : ''}`
}

async function runImport(
  context: CommandContext,
  { config, project, hint }: ProjectCall,
  file: string | undefined,
  options: ImportCommandOptions,
): Promise<CommandResult> {
  if (file === undefined) {
    const next = '`deskmirror writeback import --help` has examples'
    throw new UserError({ what: 'nothing was queued', why: 'the file is missing', next })
  }
  const now = context.now()
  const { importWritebacks, dryRunImport } = await context.load(() => import('../../app/import.ts'))
  const display = context.openDisplay(options.quiet === true)
  const kept = keptFiles(config, [importedFile(isStream(file) ? null : file)])
  const mistakesTarget = toMistakesTarget(options, kept)
  const outputs = await openReviewOutputs(context, options, kept)
  const showReview = (review: ReviewSummary, isShown: boolean) => {
    const name = isStream(file) ? 'standard input' : basename(file)
    const page = {
      title: name,
      notes: [`${name}, before it is queued. As of ${toTimestamp(now)}.`],
    }
    return outputs.finish(
      review,
      page,
      isShown ? [...renderReview(review, now).map(toPrintable), ''] : null,
    )
  }
  const source = toImportSource(context, file, options)
  const shared = {
    now,
    createdBy: decidingPerson(context, config, options),
    mistakesTarget,
    allowDuplicates: options.allowDuplicates === true,
    expiresAt: toExpiryTime(now, options.expires),
    draft: options.draft === true,
    onReviews: outputs.onReviews,
  }
  try {
    if (options.dryRun === true) {
      const report = await dryRunImport(config, project, source, shared)
      if (report.outcome === 'reviewed') await showReview(report.review, options.json !== true)
      return renderDryRun(report, project, hint)
    }
    let review: ReviewSummary | null = null
    const report = await importWritebacks(config, project, source, {
      ...shared,
      title: options.title ?? null,
      note: options.note ?? null,
      onReview: async (summary) => {
        review = summary
        await showReview(
          summary,
          options.json !== true && options.quiet !== true && summary.rows > 0,
        )
        const isLong = summary.rows >= manyRows && config.databaseUrl.startsWith('sqlite:')
        if (isLong) display.notify(lockWarning(summary.rows))
      },
      onProgress: (doing, rows) => display.onLine(`${pluralize(rows, 'row')} ${doing}`),
      notify: display.notify,
    })
    const result = renderImport(report, project, hint)
    return review === null ? result : { ...result, document: { ...report, review } }
  } finally {
    await outputs.close()
    display.clear()
  }
}

/** SQLite has one writer at a time, and waits half a minute; so many rows can take longer. */
const manyRows = 200_000

function lockWarning(rows: number): string {
  return (
    `${pluralize(rows, 'row')} go into SQLite in one transaction. Other writers wait ` +
    'meanwhile, and a running worker or push ' +
    'may time out. To avoid that, press Ctrl-C now (nothing is queued then) and stop them ' +
    'first, or split the file'
  )
}

type ImportCommandOptions = CommonOptions &
  PersonOption &
  ReviewOutputOptions & {
    readonly format: NonNullable<ImportSource['parse']['format']>
    readonly encoding?: string
    /** True: all columns that are not of an import. */
    readonly ignoreColumns?: true | string
    readonly map?: ColumnMap
    readonly senderName?: string
    readonly mistakes?: string
    readonly allowDuplicates?: true
    readonly draft?: true
    readonly title?: string
    readonly note?: string
    readonly expires?: Ms
    readonly dryRun?: true
  }

/** In `--ignore-columns FILE`, the parser takes the file for the names of columns. */
function toFileAndOptions(file: string | undefined, options: ImportCommandOptions) {
  const { ignoreColumns } = options
  if (file !== undefined) return { file, options }
  if (typeof ignoreColumns === 'string')
    return { file: ignoreColumns, options: { ...options, ignoreColumns: true as const } }
  return { file: undefined, options }
}

/** Throws UserError if the file may not be written. */
function toMistakesTarget(
  { mistakes: path, force, html, csv }: ImportCommandOptions,
  kept: KeptFiles,
) {
  if (path === undefined) return null
  const others = [html, csv].flatMap((other) => (other === undefined ? [] : [otherOutput(other)]))
  const options = { overwrite: force === true, kept: [...kept, ...others] }
  rejectOutput(path, options)
  return { path, ...options }
}

const isStream = (file: string): boolean => file === '-' || isStandardInput(file)

/** `file`: its path, or `-`. */
function toImportSource(
  context: CommandContext,
  file: string,
  { format, encoding, ignoreColumns: names, map, senderName }: ImportCommandOptions,
): ImportSource {
  const ignored = typeof names === 'string' ? names.split(',') : []
  const chosen = {
    namedHeaders: [...ignored, ...Object.keys(map ?? {})],
    ...(encoding === undefined ? {} : { encoding }),
    ...(map === undefined ? {} : { columns: toColumnMap(map) }),
    ...(senderName === undefined ? {} : { senderName }),
  }
  const parse = {
    format,
    ignoreColumns: names === true ? ('all' as const) : ignored,
    ...chosen,
  }
  return isStream(file)
    ? { source: context.openStdin(), name: null, parse }
    : { source: file, name: file, parse }
}

/** By the headers as they were typed. */
function parseMap(text: string, earlier: ColumnMap = {}): ColumnMap | undefined {
  const at = text.lastIndexOf('=')
  const header = text.slice(0, at).trim()
  const column = text
    .slice(at + 1)
    .trim()
    .toLowerCase()
  return at > 0 && toColumnKey(header) !== '' && isMeaning(column)
    ? { ...earlier, [header]: column }
    : undefined
}

const toColumnMap = (map: ColumnMap): ColumnMap =>
  Object.fromEntries(Object.entries(map).map(([header, column]) => [toColumnKey(header), column]))

/** The name that TextDecoder knows. */
function encodingNamed(name: string): string | undefined {
  try {
    return new TextDecoder(name).encoding
  } catch {
    return undefined
  }
}
