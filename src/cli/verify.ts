/** `deskmirror verify`: compares the mirror with the service, row by row. */
import { Command, Option } from 'commander'
import type { CommandContext } from './command-context.ts'
import { type CommandResult, forEachProject, joinResults, runAndPrint, selectProjects } from './command-result.ts'
import {
  jsonOption,
  parseSampleSize,
  parseWholeNumber,
  projectOption,
  quietOption,
  selectStreams,
  streamsOption,
} from './options.ts'
import { runCompareWithCertificate } from './verify/compare-certificate.ts'
import { renderVerify } from './verify/render-verify.ts'
import type { VerifyCommandOptions } from './verify/verify-options.ts'
import { runCertify } from './verify/write-certificate.ts'

const examples = `
Reads the whole service again, so it takes as many requests as a first sync; with --sample much fewer. Changes nothing, neither in the service nor in the warehouse.

--certificate FILE also counts the rows of each stream and day, with a digest of them, and writes FILE.json for programs and
FILE.html for people: what was compared and when, gaps, and what cannot be proven. --against FILE reads only the warehouse:
it counts again and lists the days that are no longer the same.

Examples:
  $ deskmirror verify
  $ deskmirror verify --streams conversations --limit 20
  $ deskmirror verify --sample 1000            at random, with their messages and activity
  $ deskmirror verify --certificate 2026-11    writes 2026-11.json and 2026-11.html
  $ deskmirror verify --against 2026-11.json

Exit code: 0 equal · 1 failed · 2 a person must change something, or the file is not a certificate of this project · 3 something differs, or could not be compared`

export function verifyCommand(context: CommandContext): Command {
  return new Command('verify')
    .summary('compare the mirror with the service, row by row')
    .description('Compares the mirror with the service, row by row, and prints what differs.')
    .addOption(streamsOption())
    .addOption(projectOption())
    .addOption(
      new Option('--sample <n>', 'compare only so many conversations and visitors, drawn at random')
        .argParser(parseSampleSize)
        .conflicts('against'),
    )
    .option('--limit <n>', 'how many differences or days to list (all are counted)', parseWholeNumber, 100)
    .addOption(
      new Option('--certificate <file>', 'also write a certificate: FILE.json, and FILE.html for people').conflicts(
        'against',
      ),
    )
    .option('--against <file>', 'say what changed since this certificate; reads only the warehouse')
    .option('--force', 'overwrite the files of --certificate')
    .addOption(quietOption())
    .addOption(jsonOption())
    .addHelpText('after', examples)
    .action((options: VerifyCommandOptions) => runAndPrint(context, options, () => runChosen(context, options)))
}

function runChosen(context: CommandContext, options: VerifyCommandOptions): Promise<CommandResult> {
  const { certificate, against } = options
  if (against !== undefined) return runCompareWithCertificate(context, against, options)
  return certificate === undefined ? runVerify(context, options) : runCertify(context, certificate, options)
}

async function runVerify(context: CommandContext, options: VerifyCommandOptions): Promise<CommandResult> {
  const config = context.loadConfig('service')
  const projects = selectProjects(config.projects, options.project)
  const display = context.openDisplay(options.quiet === true)
  const log = await context.openLog(config, display)
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
      sampleSize: options.sample,
    }
    return verifyProject(config, project, verifyOptions).finally(display.clear)
  })
  return joinResults(results, renderVerify)
}
