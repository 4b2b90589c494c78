/** `deskmirror writeback sheet`: a list of conversations to answer in a spreadsheet. */
import { Option } from 'commander'
import { formatOfPath } from '../../export/core/formats.ts'
import type { CsvSeparatorChoice, SpreadsheetForm } from '../../export/export.ts'
import { keptFiles } from '../../export/kept-files.ts'
import { createOutputFile } from '../../export/output-file.ts'
import type { SheetCells } from '../../imports/imports.ts'
import { pluralize } from '../../values/format.ts'
import { type Ms, parseDuration } from '../../values/time.ts'
import { type CommandResult, defineProjectCommand, type ProjectCall } from '../command.ts'
import type { CommandContext } from '../command-context.ts'
import {
  type CommonOptions,
  durationAllowed,
  oneProjectOption,
  parsedBy,
  separatorError,
  separatorOption,
} from '../options.ts'

type Options = CommonOptions & {
  readonly older: Ms
  readonly unassigned?: true
  readonly search?: string
  readonly visitor?: string
  readonly template?: true
  readonly output?: string
  readonly separator?: CsvSeparatorChoice
  readonly force?: true
}

const help = `
Those who wait for an answer, the longest first, or what --search or --visitor names: a row for each conversation, with
empty columns for the reply (content, or template for a text of \`replies\`) and the flag (handled). Fill them in, save,
and import the file as it is: rows that are left empty are skipped, and no reply is sent where the visitor has written
since.

Examples:
  $ deskmirror writeback sheet --output waiting.xlsx
  $ deskmirror writeback import waiting.xlsx --sender-name Ann --dry-run
  $ deskmirror writeback sheet --older 24h --unassigned > waiting.csv
  $ deskmirror writeback sheet --template > template.csv      the columns, and what each does

Exit code: 0 written · 1 failed, trying again may help · 2 a person must change something`

export const sheetCommand = defineProjectCommand<Options>({
  name: 'sheet',
  summary: 'write conversations as a sheet to fill with replies',
  description:
    'Writes conversations as a sheet to fill with replies, which `writeback import` reads.',
  options: [
    new Option('--older <duration>', 'only who has waited for that long')
      .argParser(parsedBy(durationAllowed, parseDuration))
      .default(0, 'everyone'),
    new Option('--unassigned', 'only who waits without an agent'),
    new Option(
      '--search <words>',
      'what the search of the console finds, instead of who waits',
    ).conflicts(['older', 'unassigned', 'visitor']),
    new Option('--visitor <id>', 'the conversations of a visitor, instead of who waits').conflicts([
      'older',
      'unassigned',
    ]),
    new Option(
      '--template',
      'no conversations: the columns, and a row that explains them',
    ).conflicts(['older', 'unassigned', 'search', 'visitor']),
    new Option('--output <file>', 'a workbook (.xlsx) or CSV; otherwise CSV to standard output'),
    separatorOption(),
    new Option('--force', 'overwrite the file'),
    oneProjectOption(),
  ],
  help,
  what: 'no sheet was written',
  run: runSheet,
})

async function runSheet(
  context: CommandContext,
  { config, project }: ProjectCall,
  options: Options,
): Promise<CommandResult> {
  const { replySheet } = await context.load(() => import('../../console/sql/reply-sheet.ts'))
  const { createSheetWriter, downloadedColumns, sheetTemplate } = await context.load(
    () => import('../../imports/reply-sheet.ts'),
  )
  const format = formatOfPath(options.output ?? '') === 'xlsx' ? 'xlsx' : 'csv'
  if (format === 'xlsx' && options.separator !== undefined)
    throw separatorError('no sheet was written')
  const form: SpreadsheetForm = { format, separator: options.separator ?? ',' }
  const target = {
    path: options.output,
    overwrite: options.force === true,
    kept: keptFiles(config),
  }
  const write = async (
    names: readonly string[],
    parts: AsyncIterable<readonly SheetCells[]> | readonly (readonly SheetCells[])[],
  ) => {
    const file = target.path === undefined ? null : await createOutputFile(target.path, target)
    const output = file?.output ?? context.openStdout()
    const writer = createSheetWriter(names, output, form)
    let rows = 0
    try {
      for await (const part of parts) {
        await writer.write(part)
        rows += part.length
      }
      await writer.end()
      await file?.publish()
    } finally {
      await file?.discard()
    }
    const written = `wrote ${target.path}: ${pluralize(rows, 'row')}`
    return { document: null, lines: file === null ? [] : [written], exit: 0 } as const
  }
  if (options.template === true) return write(sheetTemplate.names, [sheetTemplate.rows])
  const { older: minAgeMs, unassigned, search: text, visitor: id } = options
  const list =
    text !== undefined
      ? ({ kind: 'search', text } as const)
      : id !== undefined
        ? ({ kind: 'visitor', id } as const)
        : ({ kind: 'waiting', minAgeMs, isUnassigned: unassigned === true } as const)
  const { withWarehouse } = await context.load(() => import('../../app/open.ts'))
  const columns = downloadedColumns(project.replies)
  return withWarehouse(
    config,
    ({ projectDb }) =>
      write(columns, replySheet(projectDb(project.projectId), list, project, context.now())),
    { access: 'read', readOnly: true },
  )
}
