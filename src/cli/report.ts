/** `deskmirror report`: the week on one page. Reads only the warehouse. */
import { extname } from 'node:path'
import { Option } from 'commander'
import type { Report } from '../analytics/analytics.ts'
import { parseDate } from '../analytics/core/report-period.ts'
import { reportPage } from '../analytics/report/report-page.ts'
import type { ReportConfig } from '../app/report.ts'
import { renderHtml, renderMarkdown, renderPlainText } from '../document/page.ts'
import type { KeptFiles } from '../export/export.ts'
import { keptFiles } from '../export/kept-files.ts'
import { rejectOutput } from '../export/output-file.ts'
import type { LocalDate } from '../values/time.ts'
import { UserError } from '../values/user-error.ts'
import {
  defineCommand,
  forEachProject,
  joinResults,
  type ProjectResult,
  selectCalls,
} from './command.ts'
import type { CommandContext } from './command-context.ts'
import {
  type CommonOptions,
  jsonOption,
  loadConfigured,
  namedWarehouse,
  parsedBy,
  projectOption,
  warehouseArgument,
} from './options.ts'

const formats = ['markdown', 'html', 'json'] as const
/** `text`: on a terminal, if nothing else is asked for. */
type Format = (typeof formats)[number] | 'text'

type Options = CommonOptions & {
  readonly from?: LocalDate
  readonly to?: LocalDate
  readonly format?: Format
  readonly html?: true
  readonly markdown?: true
  readonly output?: string
  readonly force?: true
}

const help = `
Reads only the warehouse: makes no request, and needs no key, only the projects of the configuration. Without dates it
shows the last week, Monday to Sunday, that is over; with one of them, seven days. Days are those of the project's time
zone. Several projects: one part for each.

Examples:
  $ deskmirror report                                          the last week
  $ deskmirror report --html > week.html                       a page with charts
  $ deskmirror report --output week.html                       the same, by the extension of the file
  $ deskmirror report demo.db                                  of an SQLite file, without any configuration
  $ deskmirror report --from 2026-10-01 --to 2026-10-31 --project shop
  $ deskmirror report --json | jq '.projects[0].backlog.openAtEnd'

Exit code: 0 whatever the numbers are · 1 or 2 if they cannot be read, or the file cannot be written`

const parseDay = parsedBy('Write a date like 2026-11-16.', parseDate)

export const command = defineCommand<Options, string | undefined>({
  name: 'report',
  description:
    'Shows a period on one page, what changed against the period before, and what is not certain.',
  argument: warehouseArgument,
  options: [
    new Option('--from <date>', 'the first day, for example 2026-11-09').argParser(parseDay),
    new Option('--to <date>', 'the last day').argParser(parseDay),
    projectOption(),
    new Option(
      '--format <format>',
      'html, markdown or json; else by the extension of --output, text on a terminal, or markdown',
    ).choices(formats),
    new Option('--html', 'the same as --format html'),
    new Option('--markdown', 'the same as --format markdown'),
    jsonOption(),
    new Option('--output <file>', 'write the page to this file'),
    new Option('--force', 'overwrite the file'),
  ],
  help,
  printsJson: ({ json, format, output }) =>
    json === true || (format === 'json' && output === undefined),
  run: async (context, options, warehouse) => {
    const format = chooseFormat(options, context.openStdout().isTerminal)
    const { readReport, withMirroredProjects, writeReportFile } = await context.load(
      () => import('../app/report.ts'),
    )
    const config: ReportConfig =
      warehouse === undefined
        ? loadConfigured(context, 'report')
        : await withMirroredProjects(namedWarehouse(warehouse))
    const output = { overwrite: options.force === true, kept: keptBy(context, config) }
    if (options.output !== undefined) rejectOutput(options.output, output)
    const calls = selectCalls(config, options.project)
    const { from, to } = options
    const dates = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
    const results = await forEachProject(calls, null, ({ config, project }) =>
      readReport(config, project, dates, context.now()),
    )
    const answer = joinResults(results, () => ({ lines: [], exit: 0 }))
    if (!results.some((result) => 'report' in result)) return answer
    const text =
      format === 'json'
        ? `${JSON.stringify(answer.document, null, 2)}\n`
        : renderPage(format, results)
    if (options.output === undefined) return { ...answer, lines: [text.trimEnd()] }
    await writeReportFile(options.output, text, output)
    return { ...answer, lines: [`wrote ${options.output}`] }
  },
})

/** The warehouse that was named, and the configured one. */
function keptBy(context: CommandContext, { databaseUrl }: ReportConfig): KeptFiles {
  const configured = context.describeConfiguration()
  return [...keptFiles({ databaseUrl, files: [] }), ...keptFiles(configured)]
}

const renderers = { html: renderHtml, markdown: renderMarkdown, text: renderPlainText }

function renderPage(
  format: keyof typeof renderers,
  results: readonly ProjectResult<Report, { readonly project: { readonly name: string } }>[],
): string {
  const parts = results.map((result) =>
    'report' in result
      ? result.report
      : { project: result.call.project.name, what: result.error.what, why: result.error.why },
  )
  return renderers[format](reportPage(parts))
}

const formatsByExtension: Readonly<Record<string, Format>> = {
  '.html': 'html',
  '.htm': 'html',
  '.md': 'markdown',
  '.markdown': 'markdown',
  '.json': 'json',
}

function chooseFormat({ format, output, ...flags }: Options, isTerminal: boolean): Format {
  const asked = new Map<Format, string>(
    format === undefined ? [] : [[format, `--format ${format}`]],
  )
  for (const name of formats) if (flags[name] === true) asked.set(name, `--${name}`)
  const [chosen, ...others] = asked.keys()
  if (others.length > 0)
    throw unclearFormat(
      `${[...asked.values()].join(' and ')} contradict each other`,
      'leave all but one of them out',
    )
  if (chosen !== undefined) return chosen
  if (output === undefined) return isTerminal ? 'text' : 'markdown'
  const known = formatsByExtension[extname(output).toLowerCase()]
  if (known !== undefined) return known
  throw unclearFormat(
    `the name ${output} does not say which`,
    'end it with .html, .md or .json, or add --format',
  )
}

function unclearFormat(why: string, next: string): UserError {
  return new UserError({ what: 'the format of the report is not clear', why, next })
}
