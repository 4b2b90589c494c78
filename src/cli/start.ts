/** `deskmirror start`: the worker, until it is told to stop. */
import { Command } from 'commander'
import type { RunningWorker } from '../../jobs/worker.ts'
import type { Config } from '../config/load.ts'
import type { Logger } from '../log.ts'
import { locationLabel, parseDatabaseUrl } from '../warehouse/database/location.ts'
import { pluralize } from './render/format.ts'
import type { CommandContext } from './command-context.ts'
import { renderError, explainError } from './explain-error.ts'

const help = `
Reads every project by its schedules (docs/configuration.md), and answers over HTTP: /healthz, /readyz, /metrics, /queues.
SIGTERM or Ctrl-C finishes the pages in hand and stops within 10 seconds. SIGHUP reads the configuration again.

Examples:
  $ deskmirror start
  $ DESKMIRROR_QUEUE_URL=redis://127.0.0.1 deskmirror start        on as many machines as you like
  $ DESKMIRROR_HTTP=off DESKMIRROR_LOG_LEVEL=debug deskmirror start

Exit code: 0 stopped as it was told to · 1 failed, start it again · 2 a person must change something`

export function startCommand(context: CommandContext): Command {
  return new Command('start')
    .summary('keep the mirror fresh by schedule, until stopped')
    .description('Keeps the mirror fresh by schedule, until it is stopped: the worker.')
    .addHelpText('after', help)
    .action(() => runStart(context))
}

async function runStart(context: CommandContext): Promise<void> {
  try {
    await runWorker(context)
  } catch (error) {
    const trouble = explainError(error)
    context.writeErr(`${renderError(trouble, context.wantsStackTraces()).join('\n')}\n`)
    context.setExitCode(trouble.exitCode)
  }
}

async function runWorker(context: CommandContext): Promise<void> {
  const config = context.loadConfig('service')
  const display = context.openDisplay(false)
  // Whoever runs a worker reads its log: it is the display.
  const log = context.openLog({ ...config, logLevelChosen: true, warnings: [] }, display)
  logWarnings(config, log)
  log.info({ event: 'worker.starting', ...describeLocations(config) })
  const { stopSignal: stopped, onReload, onUncaughtError: onMistake, exit: leave } = context.listenForSignals()
  const failed = Promise.withResolvers<Error>()
  onMistake((error) => failed.resolve(error instanceof Error ? error : new Error(String(error))))
  const { startWorker } = await context.loadWorker()
  const stopRequested = whenStopped(stopped)
  const worker = await Promise.race([startWorker(config, { log, onFatal: failed.resolve }), stopRequested])
  // It may have been waiting for a server that is away; nothing has begun yet.
  if (worker === 'stop') return leave(0)
  onReload(() => reload(context, worker, log))
  context.writeOut(`${renderStarted(config, worker).join('\n')}\n`)

  const reason = await Promise.race([stopRequested, failed.promise])
  if (reason instanceof Error) log.fatal({ event: 'worker.failed', why: reason.message, stack: reason.stack })
  else log.info({ event: 'worker.stopping' })
  await worker.stop()
  leave(reason instanceof Error ? 1 : 0)
}

/** A configuration with a mistake changes nothing. */
function reload(context: CommandContext, worker: RunningWorker, log: Logger): void {
  try {
    const config = context.loadConfig('service')
    logWarnings(config, log)
    const needRestart = worker.reload(config)
    log.info({ event: 'config.taken', projects: config.projects.length })
    if (needRestart.length > 0) log.warn({ event: 'config.waits', settings: needRestart, why: 'these need a restart' })
  } catch (error) {
    const { why } = explainError(error)
    log.error({ event: 'config.refused', why, note: 'the worker goes on with the one before' })
  }
}

function logWarnings({ warnings }: Config, log: Logger): void {
  for (const why of warnings) log.warn({ event: 'config.doubtful', why })
}

function whenStopped(signal: AbortSignal): Promise<'stop'> {
  if (signal.aborted) return Promise.resolve('stop')
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve('stop'), { once: true }))
}

/** What is opened before it works: the first time that takes a while, and a server that is away is waited for. */
function describeLocations({ databaseUrl, queueUrl }: Pick<Config, 'databaseUrl' | 'queueUrl'>) {
  const embedded = queueUrl === 'embedded'
  return {
    warehouse: locationLabel(parseDatabaseUrl(databaseUrl)),
    queue: embedded ? 'embedded' : queueUrl.replace(/:.*/s, ''),
    ...(embedded ? { note: 'the embedded queue takes some seconds to open, and longer the first time' } : {}),
  }
}

const maxListed = 10

function renderStarted({ projects, ...config }: Config, { queue, address }: RunningWorker): string[] {
  const names = projects.slice(0, maxListed).map(({ name }) => name)
  const more = projects.length > maxListed ? ', …' : ''
  return [
    `deskmirror works: ${pluralize(projects.length, 'project')} (${names.join(', ')}${more})`,
    `  warehouse  ${describeLocations(config).warehouse}`,
    `  queue      ${queue}`,
    `  http       ${address ?? 'off'}`,
  ]
}
