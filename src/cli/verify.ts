/** `deskmirror verify`: compares the mirror with the service, row by row. */
import { Command } from 'commander'
import type { Difference, VerifyReport } from '../core/report.ts'
import type { StreamName } from '../core/row.ts'
import { type Answer, chosen, eachProject, give, joined } from './answer.ts'
import type { ExitCode } from './exit.ts'
import { jsonOption, projectOption, quietOption, streamsFor, streamsOption, wholeNumber } from './options.ts'
import { count, plural } from './readable.ts'
import { reasonLines } from './reasons.ts'
import type { Shell } from './shell.ts'
import { aligned } from './table.ts'

type Options = {
  readonly streams?: readonly StreamName[]
  readonly project?: string
  readonly limit: number
  readonly quiet?: true
  readonly json?: true
}

const examples = `
Reads the whole service again, so it takes as many requests as a first sync. Changes nothing, in neither place.

Examples:
  $ deskmirror verify
  $ deskmirror verify --streams conversations --limit 20

Exit code: 0 equal · 1 failed · 2 a person must change something · 3 something differs, or could not be compared`

export function verifyCommand(shell: Shell): Command {
  return new Command('verify')
    .summary('compare the mirror with the service, row by row')
    .description('Compares the mirror with the service, row by row, and prints what differs.')
    .addOption(streamsOption())
    .addOption(projectOption())
    .option('--limit <n>', 'how many differences to list (all are counted)', wholeNumber, 100)
    .addOption(quietOption())
    .addOption(jsonOption())
    .addHelpText('after', examples)
    .action((options: Options) => give(shell, options.json === true, () => verify(shell, options)))
}

async function verify(shell: Shell, options: Options): Promise<Answer> {
  const config = shell.loadConfig('service')
  const projects = chosen(config.projects, options.project)
  const display = shell.display(options.quiet === true)
  const log = shell.openLog(config, display)
  const signal = shell.interruptible(display)
  const { verifyProject } = await shell.work()
  const answers = await eachProject(projects, signal, (project) => {
    const streams = streamsFor(project, options.streams)
    const all = { streams, signal, onProgress: display.onProgress, tell: display.say, log, limit: options.limit }
    return verifyProject(config, project, all).finally(display.end)
  })
  return joined(answers, showVerify)
}

export function showVerify(report: VerifyReport): { readonly lines: readonly string[]; readonly exit: ExitCode } {
  const differing = report.streams.reduce((sum, it) => sum + it.differing, 0)
  const skipped = reasonLines(report.streams.map((it) => ({ ...it, failed: null })))
  const streams = report.streams.map((it) => [
    it.stream,
    `${count(it.compared)} compared`,
    `${count(it.differing)} differ`,
  ])
  const compared = report.streams.reduce((sum, it) => sum + it.compared, 0)
  const total = [
    report.project,
    `${count(compared)} compared`,
    `${count(differing)} differ`,
    plural(report.requests, 'request'),
  ]
  const more = report.truncated ? ['… and more; --limit lists them'] : []
  return {
    lines: [...aligned([...streams, total]), ...aligned(report.differences.map(differenceCells)), ...more, ...skipped],
    exit: differing === 0 && skipped.length === 0 ? 0 : 3,
  }
}

function differenceCells(it: Difference): string[] {
  return [it.stream, it.key, it.kind, it.fields.join(', ')]
}
