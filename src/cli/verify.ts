/** `deskmirror verify`: compares the mirror with the service, row by row. */
import { Command } from 'commander'
import type { Difference, VerifyReport } from '../core/command-reports.ts'
import { formatCount, pluralize } from '../core/format.ts'
import type { StreamName } from '../core/stream-specs.ts'
import type { CommandContext } from './command-context.ts'
import { type CommandResult, forEachProject, joinResults, runAndPrint, selectProjects } from './command-result.ts'
import type { ExitCode } from './exit-code.ts'
import {
  type CommonOptions,
  jsonOption,
  parseWholeNumber,
  projectOption,
  quietOption,
  selectStreams,
  streamsOption,
} from './options.ts'
import { renderStreamReasons } from './render/stream-reasons.ts'
import { alignColumns } from './render/table.ts'

type Options = CommonOptions & {
  readonly streams?: readonly StreamName[]
  readonly limit: number
}

const examples = `
Reads the whole service again, so it takes as many requests as a first sync. Changes nothing, neither in the service nor in the warehouse.

Examples:
  $ deskmirror verify
  $ deskmirror verify --streams conversations --limit 20

Exit code: 0 equal · 1 failed · 2 a person must change something · 3 something differs, or could not be compared`

export function verifyCommand(context: CommandContext): Command {
  return new Command('verify')
    .summary('compare the mirror with the service, row by row')
    .description('Compares the mirror with the service, row by row, and prints what differs.')
    .addOption(streamsOption())
    .addOption(projectOption())
    .option('--limit <n>', 'how many differences to list (all are counted)', parseWholeNumber, 100)
    .addOption(quietOption())
    .addOption(jsonOption())
    .addHelpText('after', examples)
    .action((options: Options) => runAndPrint(context, options, () => runVerify(context, options)))
}

async function runVerify(context: CommandContext, options: Options): Promise<CommandResult> {
  const config = context.loadConfig('service')
  const projects = selectProjects(config.projects, options.project)
  const display = context.openDisplay(options.quiet === true)
  const log = context.openLog(config, display)
  const signal = context.openInterruptSignal(display)
  const { verifyProject } = await context.load(() => import('../app/verify.ts'))
  const results = await forEachProject(projects, signal, (project) => {
    const streams = selectStreams(project, options.streams)
    const verifyOptions = {
      streams,
      signal,
      onProgress: display.onProgress,
      notify: display.notify,
      log,
      limit: options.limit,
    }
    return verifyProject(config, project, verifyOptions).finally(display.clear)
  })
  return joinResults(results, renderVerify)
}

function renderVerify(report: VerifyReport): { readonly lines: readonly string[]; readonly exit: ExitCode } {
  const differing = report.streams.reduce((sum, stream) => sum + stream.differing, 0)
  const skipped = renderStreamReasons(report.streams.map((stream) => ({ ...stream, failed: null })))
  const streams = report.streams.map((stream) => [
    stream.stream,
    `${formatCount(stream.compared)} compared`,
    `${formatCount(stream.differing)} differ`,
  ])
  const compared = report.streams.reduce((sum, stream) => sum + stream.compared, 0)
  const total = [
    report.project,
    `${formatCount(compared)} compared`,
    `${formatCount(differing)} differ`,
    pluralize(report.requests, 'request'),
  ]
  const more = report.truncated ? ['… and more; --limit raises the number'] : []
  return {
    lines: [
      ...alignColumns([...streams, total]),
      ...alignColumns(report.differences.map(differenceRow)),
      ...more,
      ...skipped,
    ],
    exit: differing === 0 && skipped.length === 0 ? 0 : 3,
  }
}

function differenceRow({ stream, key, kind, fields }: Difference): string[] {
  return [stream, key, kind, fields.join(', ')]
}
