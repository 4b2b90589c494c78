/** `deskmirror verify --certificate FILE`. */

import { pluralize } from '../../core/format.ts'
import type { CertifiedReport } from '../../core/proof-reports.ts'
import type { CommandContext } from '../command-context.ts'
import { type CommandResult, joinResults, selectOneProject } from '../command-result.ts'
import { selectStreams } from '../options.ts'
import { packageVersion } from '../package-version.ts'
import { renderVerify } from './render-verify.ts'
import type { VerifyCommandOptions } from './verify-options.ts'

export async function runCertify(
  context: CommandContext,
  file: string,
  options: VerifyCommandOptions,
): Promise<CommandResult> {
  const config = context.loadConfig('service')
  const project = selectOneProject(config.projects, options.project, 'a certificate is of one project')
  const display = context.openDisplay(options.quiet === true)
  const log = await context.openLog(config, display)
  const { certifyProject } = await context.load(() => import('../../app/certificate.ts'))
  const report = await certifyProject(config, project, {
    file,
    overwrite: options.force === true,
    software: `deskmirror ${packageVersion()}`,
    streams: selectStreams(project, options.streams),
    limit: options.limit,
    sampleSize: options.sample,
    signal: context.openInterruptSignal(display),
    onProgress: display.onProgress,
    notify: display.notify,
    log,
    now: context.now,
  }).finally(display.clear)
  return joinResults([{ project: project.name, report }], renderCertified)
}

function renderCertified(report: CertifiedReport) {
  const { json, page, digest, sha256, limits } = report.certificate
  const { lines, exit } = renderVerify(report)
  const written = `wrote ${json} and ${page}, with ${pluralize(limits, 'thing')} that cannot be proven`
  return { lines: [...lines, written, `digest of the rows ${digest}`, `SHA-256 of ${json} ${sha256}`], exit }
}
